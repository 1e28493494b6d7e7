"""A terminal that nobody sits at: what a program draws on it can be looked at."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["drawn", "terminal"]


@contextmanager
def terminal() -> Iterator[tuple[int, int]]:
    """The end that is looked at, and the one to give to a program; the latter is the caller's."""
    ours, theirs = os.openpty()
    try:
        yield ours, theirs
    finally:
        os.close(ours)


def drawn(ours: int) -> bytes:
    """What was drawn, once no program holds the other end any more."""
    parts = []
    try:
        while part := os.read(ours, 65536):
            parts.append(part)
    except OSError:  # How a terminal ends that nobody holds any more.
        pass
    return b"".join(parts)
