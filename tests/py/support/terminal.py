"""A pseudo-terminal whose contents can be inspected."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["drawn", "terminal"]


@contextmanager
def terminal() -> Iterator[tuple[int, int]]:
    """Returns the end to inspect, and the end for a program, which the caller has to close."""
    ours, theirs = os.openpty()
    try:
        yield ours, theirs
    finally:
        os.close(ours)


def drawn(ours: int) -> bytes:
    """Returns the contents, once all programs have closed the other end."""
    parts = []
    try:
        while part := os.read(ours, 65536):
            parts.append(part)
    except OSError:  # Linux reports a closed pseudo-terminal by EIO.
        pass
    return b"".join(parts)
