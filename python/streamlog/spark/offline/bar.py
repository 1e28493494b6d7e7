"""A bar on standard error that says how far a load is."""

import sys
from typing import Self

__all__ = ["Bar"]

_WIDTH = 40


class Bar:
    """How much of something is done; on a terminal only, unless it is asked for."""

    def __init__(self, is_shown: bool) -> None:
        """Shows nothing yet."""
        self.is_shown = is_shown

    @classmethod
    def shown(cls, wanted: bool | None) -> Self:
        """As it is wanted; on a terminal if nothing was said."""
        return cls(sys.stderr.isatty() if wanted is None else wanted)

    def show(self, share: float, words: str) -> None:
        """Shows a share between 0 and 1, and some words."""
        bar = "#" * int(_WIDTH * share)
        print(f"\r[{bar:{_WIDTH}}] {share:4.0%} {words}\x1b[K", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Makes room for other lines."""
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
