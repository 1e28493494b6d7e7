"""The cost of a broker's page cache look-ups, measured with a preloaded library."""

import dataclasses
import mmap
import struct
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

from servers import BENCH, Server

_NUMBERS = struct.Struct("=QQ")


class Looks:
    """The numbers that `preload/looks.c` shares with this process."""

    def __init__(self, folder: Path) -> None:
        """Compiles the library into `folder`."""
        self._library, self._path = folder / "looks.so", folder / "looks"
        command = ["cc", "-shared", "-fPIC", "-O2", "-std=gnu11", "-Wall", "-Werror"]
        command += ["-o", str(self._library), str(BENCH / "preload" / "looks.c"), "-ldl"]
        subprocess.run(command, check=True)
        self._path.write_bytes(bytes(_NUMBERS.size))
        with self._path.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), _NUMBERS.size)

    def preloaded(self, server: Server) -> Server:
        """Returns the same server with the library preloaded."""
        variables = (f"LD_PRELOAD={self._library}", f"STREAMLOG_LOOKS={self._path}")
        return dataclasses.replace(server, command=("env", *variables, *server.command))

    def set(self, is_looking: bool) -> None:
        """Enables look-ups in the page cache, or makes every page count as cached."""
        self._shared[0] = 0 if is_looking else 1

    def sent_bytes(self) -> int:
        """The bytes that the server has sent by `sendfile`."""
        sent: int = _NUMBERS.unpack(self._shared[:])[1]
        return sent

    def __enter__(self) -> Self:
        """Returns the object itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Unmaps the shared file."""
        self._shared.close()
