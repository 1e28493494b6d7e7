"""Ends endless consumer loops of examples once there is nothing more to read.

Examples show real programs, whose consumers wait forever. This module inspects the consumers in the
frames of the running code, and ends one that has read everything.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import streamlog

_LOOK_SECONDS = 0.05
_QUIET_LOOKS = 6
"""The number of checks without progress before a consumer is ended."""


@contextmanager
def ended() -> Iterator[None]:
    """Ends the consumers in this thread's frames that have nothing more to read."""
    done = threading.Event()
    arguments = (threading.get_ident(), done)
    onlooker = threading.Thread(target=_look_on, args=arguments, daemon=True)
    onlooker.start()
    try:
        yield
    finally:
        done.set()
        onlooker.join()


def _look_on(thread: int, done: threading.Event) -> None:
    quiet: dict[int, tuple[object, int]] = {}
    while not done.wait(_LOOK_SECONDS):
        for consumer in _consumers(sys._current_frames().get(thread)):
            state = consumer.positions()
            before, looks = quiet.get(id(consumer), (None, 0))
            looks = looks + 1 if state == before and _has_read_all(consumer) else 0
            quiet[id(consumer)] = (state, looks)
            if looks == _QUIET_LOOKS:
                consumer.end()


def _has_read_all(consumer: streamlog.Consumer[object]) -> bool:
    lag = consumer.lag()
    return bool(lag) and not any(lag.values())


def _consumers(frame: FrameType | None) -> Iterator[streamlog.Consumer[object]]:
    seen = set()
    while frame is not None:
        for value in list(frame.f_locals.values()):
            if isinstance(value, streamlog.Consumer) and id(value) not in seen:
                seen.add(id(value))
                if not value.closed:
                    yield value
        frame = frame.f_back
