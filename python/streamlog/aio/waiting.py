"""Waiting on an event loop: for answers, and not for longer than allowed."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar, cast

from streamlog._core.aio import EventLoop
from streamlog.errors import RequestTimeout

__all__ = ["answered", "attached", "detach", "within"]

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


async def within(timeout: float | None, operation: str, work: Awaitable[_T]) -> _T:
    """The outcome of the work, if it comes within so many seconds.

    Raises:
        RequestTimeout: It did not.
    """
    begin = time.monotonic()
    try:
        async with asyncio.timeout(timeout) as limit:
            return await work
    except TimeoutError as error:
        if not limit.expired():
            raise
        elapsed = time.monotonic() - begin
        text = f"{operation} was not done after {elapsed:.1f}s"
        raise RequestTimeout(text, operation, elapsed) from error
