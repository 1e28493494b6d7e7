"""Disk faults for a broker process: `tests/preload/faults.c`, compiled and controlled."""

import subprocess
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "preload" / "faults.c"


@cache
def library(directory: Path) -> Path:
    """Returns the compiled library; raises an exception with the compiler's messages."""
    path = directory / "faults.so"
    command = ["cc", "-shared", "-fPIC", "-O2", "-std=gnu11", "-Wall", "-Werror"]
    command += ["-o", str(path), str(SOURCE), "-ldl", "-lpthread"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return path


class Faults:
    """The fault rules of processes started with `env`; `faults.c` describes their syntax.

    A rule is a line such as `read */t-0/*.log EIO`, `sync *.log 2000ms` or
    `write */metadata/* ENOSPC skip=3 times=1`.
    """

    def __init__(self, directory: Path) -> None:
        """Compiles the library into `directory`, which also gets the control file."""
        self._control = directory / "faults"
        self._struck = directory / "faults.struck"
        self.env = {
            "LD_PRELOAD": str(library(directory)),
            "STREAMLOG_FAULTS": str(self._control),
        }
        self.set()

    def set(self, *rules: str) -> None:
        """Replaces the rules; counts start at the next system call."""
        new = self._control.with_suffix(".new")
        new.write_text("".join(f"{rule}\n" for rule in rules))
        new.replace(self._control)

    def struck(self) -> list[str]:
        """The faults injected so far, in order: "OPERATION PATH EFFECT" each."""
        return self._struck.read_text().splitlines() if self._struck.exists() else []
