"""Consumers and their streams."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Generator, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self

from streamlog import stopping
from streamlog._core import aio, reading
from streamlog._core.reading import Message
from streamlog.aio.backwards import rewound
from streamlog.aio.batches import Batches
from streamlog.aio.forwarding import forwarded
from streamlog.aio.messages import K, Messages, V
from streamlog.aio.waiting import seconds
from streamlog.arguments.counts import checked
from streamlog.errors import Closed, ConfigError

if TYPE_CHECKING:
    from streamlog.aio.client import Client

__all__ = ["Consumer", "Stream"]

_CLOSED = "the consumer was closed: create a new one"
_UNUSED = "it does not read yet: await it, or enter its block"


class Stream(Messages[V, K]):
    """Iterates over some partitions of a consumer, like the consumer itself."""

    def __init__(self, reader: aio.Reader[V, K], stop: asyncio.Event | None) -> None:
        """Created by a consumer."""

        async def opened() -> aio.Reader[V, K]:
            return reader

        super().__init__(opened, stop)
        self._source = reader

    async def commit(self, message: Message[Any]) -> None:
        """Commits all messages of the partition up to and including this message, for the group.

        Raises:
            BrokerError: The partition is no longer assigned to this member.
            ConfigError: The consumer has no group.
        """
        await self._source.commit([message])


class Consumer(Messages[V, K]):
    """Reads records: an iterator that waits for the next message and does not end by itself.

    ``close`` and ``end`` end it. Several tasks may take from it; each message is given out once.
    """

    def __init__(
        self, client: Client, topics: str | Sequence[str], options: Mapping[str, Any]
    ) -> None:
        """Created by ``Client.consumer``."""
        super().__init__(self._make, options.get("stop"))
        self._client = client
        self._topics = topics
        self._options = dict(options)
        self._core: reading.Consumer[V, K] | None = None
        self._is_closed = False

    def __await__(self) -> Generator[Any, None, Self]:
        """Looks its topics up, and starts reading.

        Raises:
            TopicNotFound: There is no such topic; ``nearest`` is the most similar name.
            ConfigError: A setting is invalid, or contradicts another.
        """
        return self.__aenter__().__await__()

    async def __aenter__(self) -> Self:
        """Looks its topics up, and starts reading."""
        await self._open()
        return self

    async def __aexit__(self, *_error: object) -> None:
        """Closes it."""
        await self.close()

    def __repr__(self) -> str:
        """The topics, the address and the group."""
        if self._core is None:
            return f"<streamlog.aio.Consumer of {self._topics!r}, not reading yet>"
        return f"<streamlog.aio.{repr(self._core)[1:]}"

    def __aiter__(self) -> Self:
        """The iterator itself.

        Raises:
            Closed: The consumer was closed before the loop began.
        """
        if self.closed:
            raise Closed(_CLOSED)
        return self

    def take(self, count: int, *, timeout: float | None = None) -> AsyncIterator[Message[V, K]]:
        """Iterates over at most ``count`` messages, for at most ``timeout`` seconds from now.

        Example:
            >>> async with client.consumer("orders") as consumer:
            ...     [message.offset async for message in consumer.take(2, timeout=5.0)]
            [0, 1]
        """
        now, left = asyncio.get_running_loop().time(), seconds("timeout", timeout)
        return self._bounded(checked("count", count), None if left is None else now + left)

    def batches(self, *, max_messages: int = 500, max_wait: float = 0.2) -> Batches[V, K]:
        """Iterates over batches without end; each has at least one message.

        Takes the arguments of ``streamlog.Consumer.batches``.

        Example:
            >>> async with client.consumer("orders", group="storing", commit="manual") as consumer:
            ...     batch = await anext(consumer.batches(max_messages=1000))
            ...     await batch.commit()
            ...     len(batch)
            3
        """
        if checked("max_messages", max_messages) < 1:
            raise ConfigError("max_messages: a batch has at least one message")
        return Batches(self, max_messages, seconds("max_wait", max_wait))

    def streams(self, count: int) -> list[Stream[V, K]]:
        """Divides the consumer into `count` independent iterators, one for each task.

        Each partition belongs to one stream, which keeps its order, and a slow stream does not
        delay other streams. The consumer itself cannot be iterated any more.

        Raises:
            ConfigError: Messages were read before, or the consumer was already divided.
            Closed: The consumer was closed.
        """
        event_loop, _ = self._client._connection()
        streams = self._native().streams(count)
        return [Stream(aio.Reader(event_loop, stream), self._stop) for stream in streams]

    def until_end(self) -> Messages[V, K]:
        """Iterates up to the ends that the partitions have when the iteration starts."""

        async def opened() -> aio.Reader[V, K]:
            await self._open()
            event_loop, _ = self._client._connection()
            return aio.Reader(event_loop, await aio.until_end(event_loop, self._native()))

        return Messages(opened, self._stop)

    seek = forwarded(reading.Consumer.seek)

    async def rewind(self, back: timedelta | None = None, *, messages: int | None = None) -> None:
        """Moves the position back in all partitions: to a time before now, or by messages.

        Raises:
            ConfigError: Not exactly one of the arguments was given.
            Closed: The consumer was closed.
        """
        core = self._native()
        if back is not None or messages is None:
            core.rewind(back, messages=messages)
        else:
            core.seek(await rewound(self._client, core.positions(), messages))

    pause = forwarded(reading.Consumer.pause)
    resume = forwarded(reading.Consumer.resume)
    positions = forwarded(reading.Consumer.positions)
    lag = forwarded(reading.Consumer.lag)
    assignment = forwarded(reading.Consumer.assignment)

    async def commit(self, message: Message[Any] | None = None) -> None:
        """Commits all delivered messages, or those of the partition up to and including `message`.

        Raises:
            BrokerError: The partition is no longer assigned to this member.
            ConfigError: The consumer has no group.
        """
        await self._open_reader().commit(None if message is None else [message])

    end = forwarded(reading.Consumer.end)

    @property
    def closed(self) -> bool:
        """True if it was closed."""
        return self._is_closed or (self._core is not None and self._core.closed)

    async def close(self) -> None:
        """Ends reading in all tasks and leaves the group. Idempotent."""
        self._is_closed = True
        if self._core is not None and self._reader is not None:
            await self._reader.close()
            stopping.forget(self._core)

    def _native(self) -> reading.Consumer[V, K]:
        """Returns the underlying consumer.

        Raises:
            Closed: The consumer was closed, or does not read yet.
        """
        if self._core is None:
            raise Closed(_CLOSED if self._is_closed else _UNUSED)
        return self._core

    def _open_reader(self) -> aio.Reader[V, K]:
        """Returns the reader of its messages."""
        self._native()
        assert self._reader is not None
        return self._reader

    def _give_back(self, messages: Iterable[Message[Any]]) -> None:
        """Seeks an open consumer back to undelivered messages, so that they are read again."""
        core = self._native()
        if core.closed:
            return
        first: dict[tuple[str, int], int] = {}
        for message in messages:
            first.setdefault((message.topic, message.partition), message.offset)
        mine = set(core.assignment())
        core.seek({place: offset for place, offset in first.items() if place in mine})

    async def _bounded(self, count: int, deadline: float | None) -> AsyncIterator[Message[V, K]]:
        for _ in range(count):
            message = await self.next_before(deadline)
            if message is None:
                return
            yield message
        if count and not self.closed:
            # A call after the last message marks it as processed; this one takes no other message.
            next(self._native().take(0), None)

    async def _make(self) -> aio.Reader[V, K]:
        if self._is_closed:
            raise Closed(_CLOSED)
        for name in ("key", "value", "on_assign", "on_revoke"):
            if inspect.iscoroutinefunction(self._options.get(name)):
                raise ConfigError(f"{name}: it is called, not awaited: expected a plain function")
        if not isinstance(self._stop, asyncio.Event | None):
            raise ConfigError(f"stop: expected an asyncio.Event, not {self._stop!r}")
        event_loop, client = self._client._connection()
        core = await aio.consumer(event_loop, client, self._topics, **self._options)
        stopping.watch(core, None, self._options.get("signals", False))
        self._core = core
        return aio.Reader(event_loop, core)
