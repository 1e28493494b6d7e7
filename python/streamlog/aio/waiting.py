"""Waits and timeouts on an event loop."""

import asyncio
import inspect
import math
import time
from collections.abc import Awaitable
from typing import TypeVar

from streamlog._core.aio import EventLoop
from streamlog.errors import ConfigError, RequestTimeout

__all__ = ["arrived_or_set", "attached", "detach", "seconds", "within"]

_LONGEST = 1e9
"""The longest timeout in seconds, 31 years; longer timeouts are infinite."""

_T = TypeVar("_T")


def attached() -> EventLoop:
    """Returns an event loop of the client, registered with the running asyncio loop."""
    event_loop = EventLoop()
    asyncio.get_running_loop().add_reader(event_loop.fileno(), event_loop.drain)
    return event_loop


def detach(event_loop: EventLoop) -> None:
    """Unregisters from the running loop, and fails the remaining waits."""
    event_loop.drain()
    event_loop.close()
    asyncio.get_running_loop().remove_reader(event_loop.fileno())


def seconds(name: str, given: float | None) -> float | None:
    """Returns the argument `name` in seconds; None if it is practically infinite.

    Raises:
        ConfigError: It is not a number.
    """
    if given is None:
        return None
    try:
        # fsum accepts every kind of number, but no text.
        number = math.fsum([given])
    except TypeError:
        number = math.nan
    except OverflowError:
        number = math.inf if given > 0 else math.nan
    if math.isnan(number):
        raise ConfigError(f"{name}: invalid value '{given}': expected seconds, not negative")
    return number if number <= _LONGEST else None


async def arrived_or_set(arrived: asyncio.Future[None], event: asyncio.Event) -> None:
    """Waits for `arrived`, or until the event is set.

    The task that waits for the event lives as long as this call, and if anyone cancels it, this
    returns early. A task in the background that anyone could cancel would leave the event
    unnoticed.
    """
    waiting = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait((arrived, waiting), return_when=asyncio.FIRST_COMPLETED)
        if arrived.done():
            arrived.result()
    finally:
        waiting.cancel()
        arrived.cancel()


async def within(timeout: float | None, operation: str, work: Awaitable[_T]) -> _T:
    """Returns the result of `work`, if it is done within `timeout` seconds.

    Raises:
        RequestTimeout: It was not done in time.
        ConfigError: The timeout is not a number.
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
