"""A progress bar on standard error."""

import sys
from typing import Self

__all__ = ["Bar"]

_WIDTH = 40


class Bar:
    """The progress of a task; shown on a terminal only, unless requested."""

    def __init__(self, is_shown: bool) -> None:
        """Creates a bar that shows nothing yet."""
        self.is_shown = is_shown

    @classmethod
    def shown(cls, wanted: bool | None) -> Self:
        """Returns a bar that is shown if `wanted`, or by default on a terminal."""
        return cls(sys.stderr.isatty() if wanted is None else wanted)

    def show(self, share: float, words: str) -> None:
        """Shows a share between 0 and 1, and a text."""
        bar = "#" * int(_WIDTH * share)
        print(f"\r[{bar:{_WIDTH}}] {share:4.0%} {words}\x1b[K", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Removes the bar, before other output."""
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
