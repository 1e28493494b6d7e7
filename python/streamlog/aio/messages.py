"""Messages, one after another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Self

from streamlog._core.aio import Reader
from streamlog._core.reading import Message
from streamlog.counts import checked
from streamlog.queues.generics import K, Typed, V

__all__ = ["K", "Messages", "Typed", "V", "limited"]


class Messages(Typed[V, K]):
    """Iterates over messages. One that is waited for is never lost when the waiting is cancelled.

    Messages that are there are given out without a way through the event loop, but for now and
    then, so that other tasks keep their pace.
    """

    def __init__(self, opened: Callable[[], Awaitable[Reader[V, K]]]) -> None:
        """Opened with the first message that is asked for."""
        self._opened = opened
        self._opening = asyncio.Lock()
        self._reader: Reader[V, K] | None = None
        self._take: Callable[[], Message[V, K] | None] = _nothing
        self._arrived: Callable[[], Awaitable[None]] = self._open

    def __aiter__(self) -> Self:
        """The iterator itself."""
        return self

    async def __anext__(self) -> Message[V, K]:
        """The next message.

        Raises:
            StopAsyncIteration: There will be no other.
            DecodeError: Its value cannot be decoded; the next call has the next message.
            OffsetOutOfRange: The log does not have the position, with ``on_out_of_range="error"``.
        """
        message = self._take()
        while message is None:
            await self._arrived()
            message = self._take()
        return message

    async def next_before(self, deadline: float | None) -> Message[V, K] | None:
        """The next message if there is one before the loop's time is `deadline`."""
        while True:
            try:
                message = self._take()
            except StopAsyncIteration:
                return None
            if message is not None:
                return message
            if not await self.wait_until(deadline):
                return None

    async def wait_until(self, deadline: float | None) -> bool:
        """Waits until there may be another message; false if that is not before `deadline`."""
        try:
            async with asyncio.timeout_at(deadline) as limit:
                await self._arrived()
        except TimeoutError:
            if not limit.expired():
                raise
            return False
        return True

    async def _open(self) -> None:
        async with self._opening:
            if self._reader is None:
                reader = await self._opened()
                self._reader, self._take, self._arrived = reader, reader.take, reader.arrived


def limited(
    messages: AsyncIterator[Message[V, K]], limit: int | None
) -> AsyncIterator[Message[V, K]]:
    """The first messages, as many as `limit` says.

    Raises:
        ConfigError: The limit is no count.
    """
    return messages if limit is None else _first(messages, checked("limit", limit))


async def _first(
    messages: AsyncIterator[Message[V, K]], count: int
) -> AsyncIterator[Message[V, K]]:
    for _ in range(count):
        try:
            message = await anext(messages)
        except StopAsyncIteration:
            return
        yield message


def _nothing() -> None:
    """What there is before anything was opened."""
