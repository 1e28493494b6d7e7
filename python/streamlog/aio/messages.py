"""Iteration over messages."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Self, TypeVar, overload

from streamlog._core.aio import Reader
from streamlog._core.reading import Message
from streamlog.aio.waiting import arrived_or_set
from streamlog.arguments.counts import checked
from streamlog.backwards import Decoders
from streamlog.queues.generics import K, Typed, V
from streamlog.readable import Decoder, Place

__all__ = ["K", "Messages", "Readable", "Typed", "V", "limited"]

_T = TypeVar("_T")


class Messages(Typed[V, K]):
    """Iterates over messages. Cancelling a wait does not lose a message.

    Available messages are returned without yielding to the event loop, for a few milliseconds at
    most, so that other tasks are not starved.
    """

    def __init__(
        self,
        opened: Callable[[], Awaitable[Reader[V, K]]],
        stop: asyncio.Event | None = None,
    ) -> None:
        """Stores `opened`, which is called for the reader when the first message is requested.

        The reader ends once `stop` is set; a wait for a message ends then, too.
        """
        self._opened = opened
        self._stop = stop
        self._opening = asyncio.Lock()
        self._reader: Reader[V, K] | None = None
        self._take: Callable[[], Message[V, K] | None] = _nothing
        self._arrived: Callable[[], Awaitable[None]] = self._open

    def __aiter__(self) -> Self:
        """The iterator itself."""
        return self

    async def __anext__(self) -> Message[V, K]:
        """Returns the next message.

        Raises:
            StopAsyncIteration: There are no more messages.
            DecodeError: Its key or value cannot be decoded; the next call returns the next one.
            OffsetOutOfRange: The position is outside the log, with ``on_out_of_range="error"``.
        """
        message = self._take()
        while message is None:
            await self._arrived()
            message = self._take()
        return message

    async def next_before(self, deadline: float | None) -> Message[V, K] | None:
        """Returns the next message, or None if there is none before the loop time `deadline`."""
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
        """Waits until there may be another message; returns false at the loop time `deadline`."""
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
                if self._stop is not None:
                    self._arrived = self._arrived_or_stopped

    async def _arrived_or_stopped(self) -> None:
        assert self._reader is not None
        assert self._stop is not None
        arrived = self._reader.arrived()
        if self._stop.is_set():
            # The reader has noticed the event, and waits for a dead letter only.
            await arrived
        else:
            await arrived_or_set(arrived, self._stop)


class Readable(ABC):
    """The existing messages of a topic or a partition."""

    @overload
    def read(
        self,
        start: Place | None = None,
        stop: Place | None = None,
        *,
        limit: int | None = None,
        key: Decoder[Any] | None = None,
        value: None = None,
    ) -> AsyncIterator[Message]: ...
    @overload
    def read(
        self,
        start: Place | None = None,
        stop: Place | None = None,
        *,
        limit: int | None = None,
        key: Decoder[Any] | None = None,
        value: Decoder[_T],
    ) -> AsyncIterator[Message[_T | None]]: ...
    def read(
        self,
        start: Place | None = None,
        stop: Place | None = None,
        *,
        limit: int | None = None,
        key: Decoder[Any] | None = None,
        value: Decoder[Any] | None = None,
    ) -> AsyncIterator[Message[Any]]:
        """Iterates over the existing messages, the oldest first.

        Takes the arguments of ``read`` in ``streamlog``, and its errors are raised by the iterator.
        """
        return limited(self._read(start, stop, (key, value)), limit)

    @overload
    def reversed(
        self,
        start: Place | None = None,
        stop: Place | None = None,
        *,
        limit: int | None = None,
        key: Decoder[Any] | None = None,
        value: None = None,
    ) -> AsyncIterator[Message]: ...
    @overload
    def reversed(
        self,
        start: Place | None = None,
        stop: Place | None = None,
        *,
        limit: int | None = None,
        key: Decoder[Any] | None = None,
        value: Decoder[_T],
    ) -> AsyncIterator[Message[_T | None]]: ...
    def reversed(
        self,
        start: Place | None = None,
        stop: Place | None = None,
        *,
        limit: int | None = None,
        key: Decoder[Any] | None = None,
        value: Decoder[Any] | None = None,
    ) -> AsyncIterator[Message[Any]]:
        """Iterates over the same messages as ``read``, the newest first."""
        return limited(self._reversed(start, stop, (key, value)), limit)

    def __aiter__(self) -> AsyncIterator[Message]:
        """Iterates over all messages up to the current end."""
        return self.read()

    @abstractmethod
    def _read(
        self, start: Place | None, stop: Place | None, decoders: Decoders
    ) -> AsyncIterator[Message[Any]]:
        """Iterates over the messages, the oldest first."""

    @abstractmethod
    def _reversed(
        self, start: Place | None, stop: Place | None, decoders: Decoders
    ) -> AsyncIterator[Message[Any]]:
        """Iterates over the messages, the newest first."""


def limited(
    messages: AsyncIterator[Message[V, K]], limit: int | None
) -> AsyncIterator[Message[V, K]]:
    """Returns an iterator over the first `limit` messages, or over all without a limit.

    Raises:
        ConfigError: The limit is not a valid count.
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
    """Stands for ``Reader.take`` until the reader is opened."""
