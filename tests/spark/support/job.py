"""A Spark program in a process of its own, with the processes that it starts, to be killed."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

Victim = Literal["driver", "jvm", "executor", "worker"]

_MARKS = {
    "jvm": "org.apache.spark.deploy.SparkSubmit",
    "executor": "CoarseGrainedExecutorBackend",
    "worker": "pyspark.daemon",
}
"""What the command of such a process has in it."""
_PATIENCE = 60.0


class Job:
    """A program that answers lines with lines; its Python is the driver."""

    def __init__(self, program: Path, *arguments: str, log: Path) -> None:
        """Starts it, and waits until it says `ready`; what it complains of goes to `log`."""
        self.log = log
        self._seen: set[int] = set()
        with log.open("ab") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, str(program), *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                bufsize=1,
                env={**os.environ, "PYSPARK_PYTHON": sys.executable},
            )
        answer = self.answer()
        assert answer == "ready", f"it said '{answer}':\n{self.told()}"

    def tell(self) -> None:
        """Sends a line."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def answer(self) -> str:
        """The next line, or nothing if the program has ended."""
        assert self.process.stdout is not None
        readable, _, _ = select.select([self.process.stdout], [], [], _PATIENCE)
        assert readable, f"no answer within {_PATIENCE} s:\n{self.told()}"
        return self.process.stdout.readline().strip()

    def kill(self, victim: Victim, nth: int) -> bool:
        """Kills a process of a kind, the nth around its end if there are several; if there is one.

        The others are left to find out by themselves.
        """
        if victim == "driver":
            self._seen.update(pid for pid, _ in _descendants(self.process.pid))
            self.process.kill()
            return True
        family = list(_descendants(self.process.pid))
        self._seen.update(pid for pid, _ in family)
        found = [pid for pid, command in family if _MARKS[victim] in command]
        if not found:
            return False
        os.kill(found[nth % len(found)], signal.SIGKILL)
        return True

    def told(self) -> str:
        """The end of what it complained of."""
        return self.log.read_text(errors="replace")[-4000:]

    def __enter__(self) -> Self:
        """It runs already."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends it, and what it has started and left behind."""
        self._seen.update(pid for pid, _ in _descendants(self.process.pid))
        self.process.kill()
        self.process.wait()
        deadline = time.monotonic() + 10
        while (left := [pid for pid in self._seen if _is_spark(pid)]) and (
            time.monotonic() < deadline
        ):
            time.sleep(0.05)
        for pid in left:
            os.kill(pid, signal.SIGKILL)


def _descendants(pid: int) -> Iterator[tuple[int, str]]:
    """The processes below one, each with its command."""
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, _read(tasks).split()):
            yield child, _read(Path(f"/proc/{child}/cmdline")).replace("\0", " ")
            yield from _descendants(child)


def _is_spark(pid: int) -> bool:
    command = _read(Path(f"/proc/{pid}/cmdline"))
    return any(mark in command for mark in _MARKS.values())


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
