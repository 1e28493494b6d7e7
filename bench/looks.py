"""What a broker's looks at the page cache cost, by a library that is preloaded into it."""

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
        """The same server with the library in it."""
        variables = (f"LD_PRELOAD={self._library}", f"STREAMLOG_LOOKS={self._path}")
        return dataclasses.replace(server, command=("env", *variables, *server.command))

    def set(self, is_looking: bool) -> None:
        """Lets the server look at the page cache, or take every page for cached."""
        self._shared[0] = 0 if is_looking else 1

    def sent_bytes(self) -> int:
        """What the server has sent by `sendfile`."""
        sent: int = _NUMBERS.unpack(self._shared[:])[1]
        return sent

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends the sharing."""
        self._shared.close()
