"""Waiting on an event loop: for answers, and not for longer than allowed."""

import asyncio
import inspect
import math
import time
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar, cast

from streamlog._core.aio import EventLoop
from streamlog.errors import ConfigError, RequestTimeout

__all__ = ["answered", "attached", "detach", "seconds", "within"]

_LONGEST = 1e9
"""Seconds beyond which nobody waits: 31 years."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


def attached() -> EventLoop:
    """What the client's thread rings, heard by the running loop."""
    event_loop = EventLoop()
    asyncio.get_running_loop().add_reader(event_loop.fileno(), event_loop.drain)
    return event_loop


def detach(event_loop: EventLoop) -> None:
    """The running loop listens no more; what still waits is told so."""
    event_loop.drain()
    event_loop.close()
    asyncio.get_running_loop().remove_reader(event_loop.fileno())


async def answered(ask: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """What `ask` returns. Administration of a loop returns futures of what its types say."""
    return await cast(Awaitable[_T], ask(*args, **kwargs))


def seconds(name: str, given: float | None) -> float | None:
    """The seconds that the argument `name` says; None beyond all that can be waited for.

    Raises:
        ConfigError: It is no number.
    """
    if given is None:
        return None
    try:
        # Takes what is a number, and no texts.
        number = math.fsum([given])
    except TypeError:
        number = math.nan
    except OverflowError:
        number = math.inf if given > 0 else math.nan
    if math.isnan(number):
        raise ConfigError(f"{name}: '{given}' does not fit: expected seconds, not negative")
    return number if number <= _LONGEST else None


async def within(timeout: float | None, operation: str, work: Awaitable[_T]) -> _T:
    """The outcome of the work, if it comes within so many seconds.

    Raises:
        RequestTimeout: It did not.
        ConfigError: The timeout is no number.
    """
    begin = time.monotonic()
    try:
        allowed = seconds("timeout", timeout)
    except ConfigError:
        if inspect.iscoroutine(work):
            work.close()
        raise
    try:
        async with asyncio.timeout(allowed) as limit:
            return await work
    except TimeoutError as error:
        if not limit.expired():
            raise
        elapsed = time.monotonic() - begin
        text = f"{operation} was not done after {elapsed:.1f}s"
        raise RequestTimeout(text, operation, elapsed) from error
