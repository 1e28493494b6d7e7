"""Ends the loop of a consumer from outside: by an event, or by SIGTERM.

The current message is finished first: the loop ends where it would ask for the next one.
"""

import os
import signal
import threading
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any, Protocol

from streamlog._core.reading import Consumer
from streamlog.errors import ConfigError

__all__ = ["Event", "forget", "watch"]

_LOOK_SECONDS = 1.0
"""The interval at which a watching thread checks whether its consumer still exists."""


class Event(Protocol):
    """An event: ``threading.Event``, or the event of ``multiprocessing``."""

    def is_set(self) -> bool:
        """Returns true if it is set."""

    def wait(self, timeout: float) -> bool:
        """Waits until it is set; returns false after the timeout."""


class _Terminations:
    """The consumers that SIGTERM ends, and the previous handler of the signal."""

    def __init__(self) -> None:
        self._consumers: weakref.WeakSet[Consumer[Any]] = weakref.WeakSet()
        self._before: Callable[[int, FrameType | None], Any] | int | None = None
        self._is_set = False

    def add(self, consumer: Consumer[Any]) -> None:
        if not self._is_set:
            try:
                self._before = signal.signal(signal.SIGTERM, self._end)
            except ValueError:
                consumer.close()
                message = "signals: only the main thread of a program can listen to signals"
                raise ConfigError(message) from None
            self._is_set = True
        self._consumers.add(consumer)

    def discard(self, consumer: Consumer[Any]) -> None:
        self._consumers.discard(consumer)
        if not self._consumers and threading.current_thread() is threading.main_thread():
            self._restore()

    def _restore(self) -> None:
        if self._is_set:
            self._is_set = False
            signal.signal(signal.SIGTERM, self._before or signal.SIG_DFL)

    def _end(self, number: int, frame: FrameType | None) -> None:
        consumers = list(self._consumers)
        for consumer in consumers:
            consumer.end()
        if callable(self._before):
            self._before(number, frame)
        elif not consumers:
            self._restore()
            os.kill(os.getpid(), number)


_terminations = _Terminations()


def watch(consumer: Consumer[Any], stop: Event | None, signals: bool) -> None:
    """Ends the consumer's loop when the event is set, or on SIGTERM.

    Raises:
        ConfigError: `stop` is not an event, or this thread cannot handle signals.
    """
    if stop is not None and not _can_be_waited_for(stop):
        consumer.close()
        raise ConfigError(f"stop: expected an event, as threading.Event() is one, not {stop!r}")
    if signals:
        _terminations.add(consumer)
    if stop is not None:
        arguments = (stop, weakref.ref(consumer))
        threading.Thread(target=_wait, args=arguments, name="streamlog-stop", daemon=True).start()


def forget(consumer: Consumer[Any]) -> None:
    """Forgets this closed consumer.

    Restores the previous handler of SIGTERM once none is left, if called on the main thread.
    """
    _terminations.discard(consumer)


def _can_be_waited_for(stop: Event) -> bool:
    try:
        stop.wait(0)
        return isinstance(stop.is_set(), bool)
    except (AttributeError, TypeError):
        return False


def _wait(stop: Event, watched: "weakref.ref[Consumer[Any]]") -> None:
    while True:
        is_set = stop.wait(_LOOK_SECONDS)
        consumer = watched()
        if consumer is None or consumer.closed:
            return
        if is_set:
            consumer.end()
            return
        del consumer
