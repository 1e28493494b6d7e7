"""Connections to a cluster."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, Unpack, overload
from weakref import WeakSet

from streamlog import _core
from streamlog._core import aio
from streamlog.aio.admin import Admin
from streamlog.aio.consumer import Consumer
from streamlog.aio.messages import Messages
from streamlog.aio.producer import Producer, joined, noted
from streamlog.aio.topic import Topic
from streamlog.aio.waiting import attached, detach
from streamlog.arguments.options import (
    ClientOptions,
    ConsumerOptions,
    Decoder,
    ProducerOptions,
    Serializer,
)
from streamlog.backwards import Decoders
from streamlog.errors import Closed, ForkError, StreamlogError
from streamlog.events import ClientStats, Event

__all__ = ["Client"]

if TYPE_CHECKING:
    from typing_extensions import TypeVar as DefaultingTypeVar

    _V = DefaultingTypeVar("_V", default=bytes)
    _K = DefaultingTypeVar("_K", default=bytes)
    _Sent = DefaultingTypeVar("_Sent", default=bytes | bytearray)
    _KeySent = DefaultingTypeVar("_KeySent", default=bytes | bytearray)
_Listener = TypeVar("_Listener", bound=Callable[[Event], object])


class Client:
    """A client of a cluster; ``streamlog.aio.connect`` is another name for it.

    Enter it with ``async with``, or await it, to connect. It belongs to the event loop in which it
    was connected.

    Example:
        >>> client = await streamlog.aio.connect(broker.address)
        >>> await client.admin.topics()
        ['orders']
        >>> await client.close()
    """

    def __init__(
        self,
        bootstrap: str | Sequence[str] | None = None,
        **options: Unpack[ClientOptions],
    ) -> None:
        """Connects once it is awaited, or its block is entered; takes the arguments of connect."""
        self._bootstrap = bootstrap
        self._options = options
        self._connected: tuple[aio.EventLoop, _core.Client] | None = None
        self._process = os.getpid()
        self._producers: WeakSet[Producer[Any, Any]] = WeakSet()

    def __await__(self) -> Generator[Any, None, Self]:
        """Connects to the first address that answers.

        Raises:
            ConnectError: No address could be reached; ``tried`` has the error of each.
            ConfigError: A setting is invalid.
        """
        return self._connect().__await__()

    async def __aenter__(self) -> Self:
        """Connects."""
        return await self._connect()

    async def __aexit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Closes it; an error of the block propagates, with a note about delivery errors."""
        with noted(error, "client"):
            await self.close()

    @overload
    def producer(
        self,
        *,
        key: Serializer[_KeySent] | None = None,
        value: Serializer[_Sent] | None = None,
        encoding: Literal["utf-8"],
        **options: Unpack[ProducerOptions],
    ) -> Producer[_Sent | str, _KeySent | str]: ...
    @overload
    def producer(
        self,
        *,
        key: Serializer[_KeySent] | None = None,
        value: Serializer[_Sent] | None = None,
        encoding: None = None,
        **options: Unpack[ProducerOptions],
    ) -> Producer[_Sent, _KeySent]: ...
    def producer(
        self,
        *,
        key: Serializer[Any] | None = None,
        value: Serializer[Any] | None = None,
        encoding: Literal["utf-8"] | None = None,
        **options: Unpack[ProducerOptions],
    ) -> Producer[Any, Any]:
        """Creates a producer, with the options of ``streamlog.Client.producer``.

        Raises:
            ConfigError: A setting is invalid, or contradicts another.

        Example:
            >>> async with client.producer(compression="zstd") as producer:
            ...     placed = await producer.send("orders", b"payload")
            >>> placed.offset
            3
        """
        event_loop, client = self._connection()
        making: dict[str, Any] = {"key": key, "value": value, "encoding": encoding, **options}
        producer: Producer[Any, Any] = Producer(aio.Outbox(event_loop, client.producer(**making)))
        self._producers.add(producer)
        return producer

    @overload
    def consumer(
        self,
        topics: str | Sequence[str],
        *,
        key: Decoder[_K] | None = None,
        value: Decoder[_V] | None = None,
        tombstones: Literal["skip"],
        **options: Unpack[ConsumerOptions[asyncio.Event]],
    ) -> Consumer[_V, _K | None]: ...
    @overload
    def consumer(
        self,
        topics: str | Sequence[str],
        *,
        key: Decoder[_K] | None = None,
        value: Decoder[_V] | None = None,
        tombstones: Literal["keep"] = "keep",
        **options: Unpack[ConsumerOptions[asyncio.Event]],
    ) -> Consumer[_V | None, _K | None]: ...
    def consumer(
        self,
        topics: str | Sequence[str],
        *,
        key: Decoder[Any] | None = None,
        value: Decoder[Any] | None = None,
        tombstones: Literal["keep", "skip"] = "keep",
        **options: Unpack[ConsumerOptions[asyncio.Event]],
    ) -> Consumer[Any, Any]:
        """Creates a consumer, with the options of ``streamlog.Client.consumer``.

        Its topics are looked up when its block is entered, when it is awaited, or with the first
        message. ``stop`` is an ``asyncio.Event``. Callbacks and decoders are plain functions and
        are called on the loop.

        Example:
            >>> async with client.consumer("orders", group="billing") as consumer:
            ...     async for message in consumer.until_end():
            ...         print(message.key, message.value)
            b'ada' b'{"id": 0}'
            b'grace' b'{"id": 1}'
            b'ada' b'{"id": 2}'
        """
        making = {"key": key, "value": value, "tombstones": tombstones, **options}
        return Consumer(self, topics, making)

    def __repr__(self) -> str:
        """The class name and the addresses, or that it is not connected."""
        if self._connected is None:
            return "<streamlog.aio.Client, not connected>"
        return f"<streamlog.aio.{repr(self._connected[1])[1:]}"

    def on_event(self, callback: _Listener) -> _Listener:
        """Registers a plain function to be called with each event, on the event loop.

        Works like ``streamlog.Client.on_event``.

        Returns:
            The function, so that the method can be used as a decorator.

        Raises:
            Closed: The client is not connected.
        """
        _, client = self._connection()
        loop = asyncio.get_running_loop()

        def call(event: Event) -> None:
            # If the loop has been closed meanwhile, drop the event.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(callback, event)

        client.on_event(call)
        return callback

    def stats(self) -> ClientStats:
        """Returns the client's statistics, without contacting a broker.

        Raises:
            Closed: The client is not connected.
        """
        return self._connection()[1].stats()

    def topic(self, name: str) -> Topic:
        """Returns the topic of this name, without contacting a broker."""
        return Topic(self, name)

    @property
    def admin(self) -> Admin:
        """Administration of the cluster."""
        return Admin(aio.admin(*self._connection()))

    async def close(self) -> None:
        """Closes the client and all objects created from it. Idempotent.

        Producers deliver their records first. Then consumers in groups commit the offsets of the
        messages that were processed, and leave.

        Raises:
            DeliveryError: Records failed, and their tickets were not waited for. The client is
                closed nevertheless.
        """
        if self._connected is None:
            return
        event_loop, client = self._connection()
        self._connected = None
        undelivered: StreamlogError | None = None
        try:
            for producer in tuple(self._producers):
                try:
                    await producer.close()
                except StreamlogError as error:
                    undelivered = joined(undelivered, error)
            try:
                await aio.close(event_loop, client)
            except StreamlogError as error:
                undelivered = joined(undelivered, error)
        except BaseException:
            # A caller that does not wait for the deliveries does not wait for the rest either.
            for producer in tuple(self._producers):
                producer.give_up()
            aio.close(event_loop, client).cancel()
            raise
        finally:
            detach(event_loop)
        if undelivered is not None:
            raise undelivered

    def _range(
        self, topic: str, parts: Sequence[tuple[int, int, int]], decoders: Decoders | None = None
    ) -> Messages[Any]:
        """Returns the messages of partitions, each between two offsets."""

        async def opened() -> aio.Reader[Any]:
            event_loop, client = self._connection()
            messages = await aio.range(event_loop, client, topic, parts, decoders)
            return aio.Reader(event_loop, messages)

        return Messages(opened)

    def _connection(self) -> tuple[aio.EventLoop, _core.Client]:
        """Returns the event loop and the client.

        Raises:
            Closed: The client is not connected.
            ForkError: It belongs to the parent process.
        """
        if self._connected is None:
            raise Closed("it is not connected: await it, or enter its block")
        if self._process != os.getpid():
            raise ForkError("this belongs to the process that this one was forked from")
        return self._connected

    async def _connect(self) -> Self:
        if self._connected is None:
            event_loop = attached()
            try:
                client = await aio.connect(event_loop, self._bootstrap, **self._options)
            except BaseException:
                detach(event_loop)
                raise
            self._connected = (event_loop, client)
        return self
