"""A progress bar, on a terminal only."""

import sys
from types import TracebackType
from typing import Self

WIDTH = 40


class Progress:
    """The progress of a task with a known total."""

    def __init__(self, what: str, total: int) -> None:
        """Starts with nothing of `total` done."""
        self.what = what
        self.total = total
        self.done = 0
        self.step = max(total // 200, 1)
        self.is_shown = sys.stderr.isatty()

    def advance(self) -> None:
        """Advances by one."""
        self.done += 1
        if self.is_shown and self.done % self.step == 0:
            bar = "#" * (WIDTH * self.done // self.total)
            print(f"\r{self.what:9} [{bar:{WIDTH}}] {self.done:,}", end="", file=sys.stderr)
            if self.done == self.total:
                self.clear()

    def clear(self) -> None:
        """Removes the bar, before other output."""
        if self.is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> Self:
        """Shows the bar."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Removes the bar."""
        self.clear()
