"""Consumers, messages, and what a topic's logs hold."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from types import GenericAlias
from typing import Any, Final, Generic, Literal, Self, TypeAlias, final, overload

from typing_extensions import TypeVar

from streamlog._core.arrow import ArrowBatches
from streamlog._core.bounded import Bounded, UntilEnd

__all__ = [
    "Batch",
    "Batches",
    "Consumer",
    "Message",
    "Stream",
]

_V = TypeVar("_V", covariant=True, default=bytes | None)
_K = TypeVar("_K", covariant=True, default=Any)
_Default = TypeVar("_Default")
_Start: TypeAlias = Literal["earliest", "latest"] | int | datetime | timedelta
_Place: TypeAlias = str | int | datetime | timedelta
_Partition: TypeAlias = int | tuple[str, int]

@final
class Message(Generic[_V, _K]):
    """A record as it was read. It cannot be changed.

    Example:
        >>> message = next(client.topic("orders").read())
        >>> message.key, message.value, message.headers
        (b'ada', b'{"id": 0}', ())
    """

    __match_args__: Final = (
        "topic",
        "partition",
        "offset",
        "timestamp",
        "key",
        "value",
        "headers",
    )

    def __new__(cls, state: tuple[Any, ...], key: object = None, value: object = None) -> Self:
        """Only unpickling calls it."""

    @property
    def topic(self) -> str:
        """Its topic."""

    @property
    def partition(self) -> int:
        """Its partition."""

    @property
    def offset(self) -> int:
        """Its place in the partition."""

    @property
    def timestamp(self) -> datetime | None:
        """Its time, in UTC."""

    @property
    def timestamp_ms(self) -> int:
        """Its time in milliseconds since 1970; -1 if it has none."""

    @property
    def key(self) -> _K:
        """Its key: bytes, what the consumer's ``key=`` made of them, or None."""

    @property
    def value(self) -> _V:
        """Its value: bytes, or what the consumer's ``value=`` made of them; None is a tombstone."""

    @property
    def raw_key(self) -> bytes | None:
        """Its key, as it was published."""

    @property
    def raw_value(self) -> bytes | None:
        """Its value, as it was published."""

    @property
    def headers(self) -> tuple[tuple[str, bytes | None], ...]:
        """Its headers in order; a name may occur twice."""

    @overload
    def header(self, name: str, default: None = None) -> bytes | None: ...
    @overload
    def header(self, name: str, default: _Default) -> bytes | _Default | None:
        """Returns the value of the last header of this name, or the default if there is none.

        Example:
            >>> with client.producer() as producer:
            ...     ticket = producer.send("orders", b"payload", headers={"trace": b"ab12"})
            >>> message = client.topic("orders").partition(0)[-1]
            >>> message.header("trace"), message.header("span"), message.header("span", b"none")
            (b'ab12', None, b'none')
        """

    def __class_getitem__(cls, item: object) -> GenericAlias:
        """The class with the type of its values."""

    def __eq__(self, other: object, /) -> bool:
        """Whether all of it is equal."""

    def __hash__(self) -> int:
        """Equal ones have one hash."""

    def __getnewargs__(self) -> tuple[Any, ...]:
        """What it is made of."""

@final
class Consumer(Generic[_V, _K]):
    """Reads records: an iterator that waits for the next one and never ends by itself.

    ``close``, from any thread or a signal's handler, ends it. Several threads may take from it.

    Example:
        >>> with client.consumer("orders") as consumer:
        ...     for message in consumer:
        ...         print(message.offset, message.value)
        0 b'{"id": 0}'
        1 b'{"id": 1}'
        2 b'{"id": 2}'
    """

    def __class_getitem__(cls, item: object) -> GenericAlias:
        """The class with the type of its values."""

    def __iter__(self) -> Self:
        """The consumer itself.

        Raises:
            Closed: It was closed before the loop began.
        """

    def __next__(self) -> Message[_V, _K]:
        """The next message.

        Raises:
            StopIteration: The consumer was closed.
            DecodeError: Its value cannot be decoded; the next call has the next message.
            OffsetOutOfRange: The log does not have the position, with ``on_out_of_range="error"``.
        """

    def take(self, count: int, *, timeout: float | None = None) -> Bounded[_V, _K]:
        """Iterates over at most ``count`` messages, for at most ``timeout`` seconds from now.

        Example:
            >>> with client.consumer("orders") as consumer:
            ...     [message.offset for message in consumer.take(2, timeout=5.0)]
            [0, 1]
        """

    def batches(self, *, max_messages: int = 500, max_wait: float = 0.2) -> Batches[_V, _K]:
        """Iterates over batches, for ever: each has at least one message.

        What cannot be decoded ends its batch, and the next call raises ``DecodeError``.

        Args:
            max_messages: The most that a batch has.
            max_wait: Seconds that a batch waits for more after its first message.

        Example:
            >>> with client.consumer("orders", group="storing", commit="manual") as consumer:
            ...     for batch in consumer.batches(max_messages=1000, max_wait=0.2):
            ...         print(len(batch))
            ...         batch.commit()
            3
        """

    def arrow(
        self,
        *,
        columns: Sequence[str] | None = None,
        max_rows: int = 65536,
        max_bytes: int | str = "4 MiB",
        max_wait: float = 0.2,
    ) -> ArrowBatches:
        """Iterates over Arrow record batches, for ever: each has at least one row.

        No message is made on the way, and ``key=`` and ``value=`` decode nothing. A batch counts as
        done like a message in hand; it stays good when the consumer is closed.

        Args:
            columns: Those that are wanted, in this order; all if omitted. They are topic,
                partition, offset, timestamp (in microseconds, UTC; null if there is none),
                timestamp_type (0: the producer's time, 1: the log's), key, value, and headers (a
                list of structs of key and value).
            max_rows: The most rows that a batch has.
            max_bytes: Bytes of keys, values and headers at which a batch is full, counted in the
                wanted columns only; its last row may go beyond.
            max_wait: Seconds that a batch waits for more after its first row.

        Raises:
            MissingExtra: pyarrow is not installed.
            ConfigError: There is no such column, or a limit does not fit.

        Example:
            >>> with client.consumer("orders") as consumer:
            ...     next(consumer.arrow(columns=["offset", "key"])).to_pydict()
            {'offset': [0, 1, 2], 'key': [b'ada', b'grace', b'ada']}
        """

    def streams(self, count: int) -> list[Stream[_V, _K]]:
        """Parts the consumer into so many independent iterators, for a thread each.

        Each partition is in one of them, in order, and a slow stream holds up no other. The
        consumer itself is not iterated over any more.

        Raises:
            ConfigError: Something has been read already, or it was parted before.
            Closed: The consumer was closed.

        Example:
            >>> def work(stream):
            ...     return sum(1 for message in stream)
            >>> with client.consumer("orders") as consumer, ThreadPoolExecutor(4) as pool:
            ...     sum(pool.map(work, consumer.streams(4)))
            3
        """

    def until_end(self) -> UntilEnd[_V, _K]:
        """Iterates up to the ends that the partitions have now.

        Example:
            >>> with client.consumer("orders", start=1) as consumer:
            ...     [message.offset for message in consumer.until_end()]
            [1, 2]
        """

    def seek(self, to: _Start | Mapping[int, _Place] | Mapping[tuple[str, int], _Place]) -> None:
        """Goes on elsewhere: in all partitions, or in those that a mapping names.

        Args:
            to: An end of the log, an offset, a time, a timedelta from now, or a mapping to these
                from partitions, or from pairs of topic and partition.

        Raises:
            ConfigError: The consumer does not read such a partition.
            Closed: The consumer was closed.

        Example:
            >>> with client.consumer("orders") as consumer:
            ...     consumer.seek({0: 2})
            ...     next(consumer).offset
            2
        """

    def rewind(self, back: timedelta | None = None, *, messages: int | None = None) -> None:
        """Goes back in all partitions: to a time before now, or by messages of each.

        Raises:
            ConfigError: Not exactly one of them was given.
            Closed: The consumer was closed.

        Example:
            >>> with client.consumer("orders") as consumer:
            ...     seen = list(consumer.until_end())
            ...     consumer.rewind(messages=1)
            ...     [message.offset for message in consumer.until_end()]
            [2]
        """

    def pause(self, partitions: _Partition | Iterable[_Partition] | None = None) -> None:
        """Lets partitions rest, all if none are named; what was fetched of them is kept.

        Raises:
            ConfigError: The consumer does not read such a partition.
            Closed: The consumer was closed.

        Example:
            >>> with client.consumer("orders") as consumer:
            ...     consumer.pause(0)
            ...     list(consumer.take(1, timeout=0.1))
            []
        """

    def resume(self, partitions: _Partition | Iterable[_Partition] | None = None) -> None:
        """Goes on with partitions that rest, all if none are named.

        Raises:
            ConfigError: The consumer does not read such a partition.
            Closed: The consumer was closed.

        Example:
            >>> with client.consumer("orders") as consumer:
            ...     consumer.pause()
            ...     consumer.resume(("orders", 0))
            ...     next(consumer).offset
            0
        """

    def positions(self) -> dict[tuple[str, int], int | None]:
        """The offset read next, sorted by topic and partition; None until it is known.

        Example:
            >>> with client.consumer("orders") as consumer:
            ...     message = next(consumer)
            ...     consumer.positions()
            {('orders', 0): 1}
        """

    def lag(self) -> dict[tuple[str, int], int | None]:
        """Records between position and end by the last answers; None until both are known.

        Example:
            >>> with client.consumer("orders") as consumer:
            ...     message = next(consumer)
            ...     consumer.lag()
            {('orders', 0): 2}
        """

    def assignment(self) -> list[tuple[str, int]]:
        """The topics and partitions that it reads, sorted.

        Example:
            >>> with client.consumer("orders") as consumer:
            ...     message = next(consumer)
            ...     consumer.assignment()
            [('orders', 0)]
        """

    def commit(self, message: Message[Any] | None = None) -> None:
        """Stores for the group that all up to this message is done, or all that was given out.

        Raises:
            BrokerError: The partition is no longer this member's.
            ConfigError: There is no group.

        Example:
            >>> with client.consumer("orders", group="billing", commit="manual") as consumer:
            ...     consumer.commit(next(consumer))
            >>> client.admin.group("billing").committed()
            {('orders', 0): 1}
        """

    def end(self) -> None:
        """Ends the loop, of all threads, once what is in hand is done; it still has to be closed.

        It may be called by any thread, and by the handler of a signal.

        Example:
            >>> with client.consumer("orders") as consumer:
            ...     for message in consumer:
            ...         consumer.end()
            ...     message.offset
            0
        """

    @property
    def closed(self) -> bool:
        """Whether it was closed.

        Example:
            >>> consumer = client.consumer("orders")
            >>> consumer.closed
            False
        """

    def close(self) -> None:
        """Ends reading, for all threads; a member leaves its group. Again does nothing.

        Example:
            >>> consumer = client.consumer("orders")
            >>> consumer.close()
            >>> for message in consumer:
            ...     print(message)
            Traceback (most recent call last):
            streamlog.errors.Closed: ...
        """

    def __enter__(self) -> Self:
        """The consumer itself."""

    def __exit__(self, _kind: object, _error: object, _trace: object, /) -> None:
        """Closes it."""

@final
class Batches(Generic[_V, _K]):
    """Iterates over batches of a consumer's messages."""

    def __iter__(self) -> Self:
        """The iterator itself."""

    def __next__(self) -> Batch[_V, _K]:
        """The next batch."""

@final
class Batch(Sequence[Message[_V, _K]]):
    """Messages that came together, in the order of each partition.

    Example:
        >>> with client.consumer("orders") as consumer:
        ...     batch = next(consumer.batches())
        ...     len(batch), batch[-1].offset
        (3, 2)
    """

    @property
    def messages(self) -> list[Message[_V, _K]]:
        """The messages.

        Example:
            >>> with client.consumer("orders") as consumer:
            ...     [message.offset for message in next(consumer.batches()).messages]
            [0, 1, 2]
        """

    def commit(self) -> None:
        """Stores for the group that this batch, and all before it, is done.

        Raises:
            BrokerError: A partition is no longer this member's.
            ConfigError: There is no group.

        Example:
            >>> with client.consumer("orders", group="storing", commit="manual") as consumer:
            ...     next(consumer.batches()).commit()
            >>> client.admin.group("storing").lag()
            {('orders', 0): 0}
        """

    def __len__(self) -> int:
        """How many there are."""

    @overload
    def __getitem__(self, index: int, /) -> Message[_V, _K]: ...
    @overload
    def __getitem__(self, index: slice, /) -> Sequence[Message[_V, _K]]: ...
    def __iter__(self) -> Iterator[Message[_V, _K]]:
        """Its messages."""

@final
class Stream(Generic[_V, _K]):
    """Iterates over some partitions of a consumer, as the consumer itself would.

    Example:
        >>> with client.consumer("orders", group="billing", commit="manual") as consumer:
        ...     stream = consumer.streams(1)[0]
        ...     for message in stream:
        ...         stream.commit(message)
        >>> client.admin.group("billing").lag()
        {('orders', 0): 0}
    """

    def __iter__(self) -> Self:
        """The iterator itself."""

    def __next__(self) -> Message[_V, _K]:
        """The next message.

        Raises:
            StopIteration: The consumer was closed.
            DecodeError: Its value cannot be decoded; the next call has the next message.
            OffsetOutOfRange: The log does not have the position, with ``on_out_of_range="error"``.
        """

    def arrow(
        self,
        *,
        columns: Sequence[str] | None = None,
        max_rows: int = 65536,
        max_bytes: int | str = "4 MiB",
        max_wait: float = 0.2,
    ) -> ArrowBatches:
        """Iterates over Arrow record batches of the stream, as ``Consumer.arrow`` has them.

        Example:
            >>> with client.consumer("orders") as consumer:
            ...     stream = consumer.streams(1)[0]
            ...     next(stream.arrow(columns=["offset"])).num_rows
            3
        """

    def commit(self, message: Message[Any]) -> None:
        """Stores for the group that all of the message's partition up to it is done.

        Raises:
            BrokerError: The partition is no longer this member's.
            ConfigError: There is no group.

        Example:
            >>> with client.consumer("orders", group="billing", commit="manual") as consumer:
            ...     stream = consumer.streams(1)[0]
            ...     stream.commit(next(stream))
            >>> client.admin.group("billing").committed()
            {('orders', 0): 1}
        """
