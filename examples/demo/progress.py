"""A progress bar, on a terminal only."""

import sys
from types import TracebackType
from typing import Self

WIDTH = 40


class Progress:
    """How much of something is done."""

    def __init__(self, what: str, total: int) -> None:
        """Nothing of `total` yet."""
        self.what = what
        self.total = total
        self.done = 0
        self.step = max(total // 200, 1)
        self.is_shown = sys.stderr.isatty()

    def advance(self) -> None:
        """One more is done."""
        self.done += 1
        if self.is_shown and self.done % self.step == 0:
            bar = "#" * (WIDTH * self.done // self.total)
            print(f"\r{self.what:9} [{bar:{WIDTH}}] {self.done:,}", end="", file=sys.stderr)
            if self.done == self.total:
                self.clear()

    def clear(self) -> None:
        """Makes room for other lines."""
        if self.is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> Self:
        """Begins."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends, whatever the reason."""
        self.clear()
