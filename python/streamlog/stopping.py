"""Ends consumers from outside: their loops by an event or SIGTERM, themselves with the program.

A loop finishes the current message first: it ends where it would ask for the next one.

Producers, too, are closed with the program. Python does not drop what refers to itself, such as a
producer that is a global name of the module that also defines its ``value=`` function: its records
would be lost, and a consumer would stay in its group until the session timeout.
"""

import os
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from types import FrameType
from typing import Any, Protocol

from streamlog._core.producing import Producer
from streamlog._core.reading import Consumer
from streamlog.errors import ConfigError, RequestTimeout

__all__ = ["Event", "close_all", "close_at_exit", "forget", "watch"]

_AFTER_CTRL_C_SECONDS = 5.0
"""The time that the end of a program waits for undelivered records if Ctrl-C has ended it."""
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
_open_producers: weakref.WeakSet[Producer[Any, Any]] = weakref.WeakSet()
_open_consumers: weakref.WeakSet[Consumer[Any, Any]] = weakref.WeakSet()


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


def close_at_exit(opened: Producer[Any, Any] | Consumer[Any, Any]) -> None:
    """Registers a producer or consumer to be closed with the program if it still exists then."""
    if isinstance(opened, Producer):
        _open_producers.add(opened)
    else:
        _open_consumers.add(opened)


def close_all() -> None:
    """Closes what is still open; called at the end of the program."""
    producers = tuple(_open_producers)
    # Set if an exception that nobody has caught is ending the program, and at a prompt by any.
    last = None if hasattr(sys, "ps1") else getattr(sys, "last_type", None)
    is_interrupted = last is KeyboardInterrupt
    end = time.monotonic() + _AFTER_CTRL_C_SECONDS if is_interrupted else None
    with ExitStack() as closing:
        # The last is called first: producers deliver before consumers commit.
        closing.callback(Consumer._close_all, tuple(_open_consumers))
        for producer in producers:
            closing.callback(_deliver, producer, producers, end)


def _deliver(
    producer: Producer[Any, Any], producers: Sequence[Producer[Any, Any]], end: float | None
) -> None:
    """Closes one of the producers; Ctrl-C meanwhile gives up the records of all of them."""
    try:
        producer.close(None if end is None else max(0.0, end - time.monotonic()))
    except KeyboardInterrupt:
        for other in producers:
            with suppress(RequestTimeout):
                other.close(timeout=0)
        raise


# A forked child is not a member of its parent's groups. Producers know themselves that their
# records are the parent's.
os.register_at_fork(after_in_child=_open_consumers.clear)


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
