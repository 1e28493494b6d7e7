"""Consumers and messages."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from types import GenericAlias
from typing import Any, Final, Generic, Self, TypeAlias, final, overload

from typing_extensions import TypeVar

from streamlog._core.arrow import ArrowBatches
from streamlog._core.bounded import Bounded, UntilEnd
from streamlog.arguments.options import Start as _Start

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
_Place: TypeAlias = str | int | datetime | timedelta
_Partition: TypeAlias = int | tuple[str, int]

@final
class Message(Generic[_V, _K]):
    """A record read from a topic. Immutable.

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
        """Called by unpickling only."""

    @property
    def topic(self) -> str:
        """Its topic."""

    @property
    def partition(self) -> int:
        """Its partition."""

    @property
    def offset(self) -> int:
        """Its offset in the partition."""

    @property
    def timestamp(self) -> datetime | None:
        """Its timestamp in UTC, or None; ValueError if no datetime holds its ``timestamp_ms``."""

    @property
    def timestamp_ms(self) -> int:
        """Its timestamp in milliseconds since 1970; -1 if it has none."""

    @property
    def key(self) -> _K:
        """Its key: bytes, the result of the consumer's ``key=``, or None."""

    @property
    def value(self) -> _V:
        """Its value: bytes, or the result of the consumer's ``value=``; None is a tombstone."""

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
        """The class with the types of values and keys."""

    def __eq__(self, other: object, /) -> bool:
        """True if all attributes are equal."""

    def __hash__(self) -> int:
        """A hash that is equal for equal objects."""

    def __getnewargs__(self) -> tuple[Any, ...]:
        """The arguments for unpickling."""

@final
class Consumer(Generic[_V, _K]):
    """Reads records: an iterator that waits for the next message and does not end by itself.

    ``close``, from any thread or signal handler, ends it. Several threads may read from it.

    Example:
        >>> with client.consumer("orders") as consumer:
        ...     for message in consumer:
        ...         print(message.offset, message.value)
        0 b'{"id": 0}'
        1 b'{"id": 1}'
        2 b'{"id": 2}'
    """

    def __class_getitem__(cls, item: object) -> GenericAlias:
        """The class with the types of values and keys."""

    def __iter__(self) -> Self:
        """The consumer itself.

        Raises:
            Closed: The consumer was closed before the loop began.
        """

    def __next__(self) -> Message[_V, _K]:
        """Returns the next message.

        Raises:
            StopIteration: The consumer was closed or ended.
            DecodeError: Its key or value cannot be decoded; the next call returns the next one.
            OffsetOutOfRange: The position is outside the log, with ``on_out_of_range="error"``.
        """

    def take(self, count: int, *, timeout: float | None = None) -> Bounded[_V, _K]:
        """Iterates over at most ``count`` messages, for at most ``timeout`` seconds from now.

        Example:
            >>> with client.consumer("orders") as consumer:
            ...     [message.offset for message in consumer.take(2, timeout=5.0)]
            [0, 1]
        """

    def batches(self, *, max_messages: int = 500, max_wait: float = 0.2) -> Batches[_V, _K]:
        """Iterates over batches without end; each has at least one message.

        A message that cannot be decoded ends its batch, and the next call raises ``DecodeError``.

        Args:
            max_messages: The maximal number of messages in a batch.
            max_wait: Seconds that a batch waits for more messages after its first.

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
        """Iterates over Arrow record batches without end; each has at least one row.

        No Python messages are created, and ``key=`` and ``value=`` decode nothing. A batch counts
        as done when a message would; it stays valid after the consumer is closed.

        Args:
            columns: The columns, in this order; all if omitted. They are topic,
                partition, offset, timestamp (in microseconds, UTC; null if there is none, or one
                after the year 294247), timestamp_type (0: the producer's time, 1: the log's), key,
                value, and headers (a list of structs of key and value).
            max_rows: The maximal number of rows in a batch.
            max_bytes: Bytes of keys, values and headers at which a batch is full, counted in the
                selected columns only; its last row may exceed it.
            max_wait: Seconds that a batch waits for more rows after its first.

        Raises:
            MissingExtra: pyarrow is not installed.
            ConfigError: There is no such column, or a limit is invalid.

        Example:
            >>> with client.consumer("orders") as consumer:
            ...     next(consumer.arrow(columns=["offset", "key"])).to_pydict()
            {'offset': [0, 1, 2], 'key': [b'ada', b'grace', b'ada']}
        """

    def streams(self, count: int) -> list[Stream[_V, _K]]:
        """Divides the consumer into `count` independent iterators, for a thread each.

        Each partition belongs to one stream, which keeps its order, and a slow stream does not
        delay the others. The consumer itself cannot be iterated any more.

        Raises:
            ConfigError: Messages were read before, or the consumer was already divided.
            Closed: The consumer was closed.

        Example:
            >>> def work(stream):
            ...     return sum(1 for message in stream)
            >>> with client.consumer("orders") as consumer, ThreadPoolExecutor(4) as pool:
            ...     sum(pool.map(work, consumer.streams(4)))
            3
        """

    def until_end(self) -> UntilEnd[_V, _K]:
        """Iterates up to the current ends of the partitions.

        Example:
            >>> with client.consumer("orders", start=1) as consumer:
            ...     [message.offset for message in consumer.until_end()]
            [1, 2]
        """

    def seek(self, to: _Start | Mapping[int, _Place] | Mapping[tuple[str, int], _Place]) -> None:
        """Moves the position in all partitions, or in those of a mapping.

        Args:
            to: An end of the log, an offset, a time, a timedelta from now, or a mapping from
                partitions, or from pairs of topic and partition, to these.

        Raises:
            ConfigError: The consumer does not read one of the partitions.
            Closed: The consumer was closed.

        Example:
            >>> with client.consumer("orders") as consumer:
            ...     consumer.seek({0: 2})
            ...     next(consumer).offset
            2
        """

    def rewind(self, back: timedelta | None = None, *, messages: int | None = None) -> None:
        """Moves the position back in all partitions: to a time before now, or by messages.

        Raises:
            ConfigError: Not exactly one of the arguments was given.
            Closed: The consumer was closed.

        Example:
            >>> with client.consumer("orders") as consumer:
            ...     seen = list(consumer.until_end())
            ...     consumer.rewind(messages=1)
            ...     [message.offset for message in consumer.until_end()]
            [2]
        """

    def pause(self, partitions: _Partition | Iterable[_Partition] | None = None) -> None:
        """Pauses the delivery of partitions, all if omitted; fetched messages are kept.

        Raises:
            ConfigError: The consumer does not read one of the partitions.
            Closed: The consumer was closed.

        Example:
            >>> with client.consumer("orders") as consumer:
            ...     consumer.pause(0)
            ...     list(consumer.take(1, timeout=0.1))
            []
        """

    def resume(self, partitions: _Partition | Iterable[_Partition] | None = None) -> None:
        """Resumes the delivery of partitions, all if omitted.

        Raises:
            ConfigError: The consumer does not read one of the partitions.
            Closed: The consumer was closed.

        Example:
            >>> with client.consumer("orders") as consumer:
            ...     consumer.pause()
            ...     consumer.resume(("orders", 0))
            ...     next(consumer).offset
            0
        """

    def positions(self) -> dict[tuple[str, int], int | None]:
        """Returns the next offset to read, sorted by topic and partition; None until known.

        Example:
            >>> with client.consumer("orders") as consumer:
            ...     message = next(consumer)
            ...     consumer.positions()
            {('orders', 0): 1}
        """

    def lag(self) -> dict[tuple[str, int], int | None]:
        """Returns the records between position and last fetched end; None until both are known.

        Example:
            >>> with client.consumer("orders") as consumer:
            ...     message = next(consumer)
            ...     consumer.lag()
            {('orders', 0): 2}
        """

    def assignment(self) -> list[tuple[str, int]]:
        """Returns the assigned topics and partitions, sorted.

        Example:
            >>> with client.consumer("orders") as consumer:
            ...     message = next(consumer)
            ...     consumer.assignment()
            [('orders', 0)]
        """

    def commit(self, message: Message[Any] | None = None) -> None:
        """Commits all delivered messages, or those of the partition up to and including `message`.

        Raises:
            BrokerError: The partition is no longer assigned to this member.
            ConfigError: The consumer has no group.

        Example:
            >>> with client.consumer("orders", group="billing", commit="manual") as consumer:
            ...     consumer.commit(next(consumer))
            >>> client.admin.group("billing").committed()
            {('orders', 0): 1}
        """

    def end(self) -> None:
        """Ends the loops of all threads after the current message; does not close the consumer.

        May be called by any thread, and by a signal handler.

        Example:
            >>> with client.consumer("orders") as consumer:
            ...     for message in consumer:
            ...         consumer.end()
            ...     message.offset
            0
        """

    @staticmethod
    def _close_all(consumers: Sequence[Consumer[Any, Any]]) -> None:
        """Closes several consumers at the same time, within the time limit of one."""

    @property
    def closed(self) -> bool:
        """True if it was closed.

        Example:
            >>> consumer = client.consumer("orders")
            >>> consumer.closed
            False
        """

    def close(self) -> None:
        """Ends reading in all threads and leaves the group. Idempotent.

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
        """Returns the next batch."""

@final
class Batch(Sequence[Message[_V, _K]]):
    """Messages delivered together, in the order of each partition.

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
        """Commits this batch, and all messages before it, for the group.

        Raises:
            BrokerError: A partition is no longer assigned to this member.
            ConfigError: The consumer has no group.

        Example:
            >>> with client.consumer("orders", group="storing", commit="manual") as consumer:
            ...     next(consumer.batches()).commit()
            >>> client.admin.group("storing").lag()
            {('orders', 0): 0}
        """

    def __len__(self) -> int:
        """The number of messages."""

    @overload
    def __getitem__(self, index: int, /) -> Message[_V, _K]: ...
    @overload
    def __getitem__(self, index: slice, /) -> Sequence[Message[_V, _K]]: ...
    def __iter__(self) -> Iterator[Message[_V, _K]]:
        """Iterates over its messages."""

@final
class Stream(Generic[_V, _K]):
    """Iterates over some partitions of a consumer, like the consumer itself.

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
        """Returns the next message.

        Raises:
            StopIteration: The consumer was closed or ended.
            DecodeError: Its key or value cannot be decoded; the next call returns the next one.
            OffsetOutOfRange: The position is outside the log, with ``on_out_of_range="error"``.
        """

    def arrow(
        self,
        *,
        columns: Sequence[str] | None = None,
        max_rows: int = 65536,
        max_bytes: int | str = "4 MiB",
        max_wait: float = 0.2,
    ) -> ArrowBatches:
        """Iterates over Arrow record batches of the stream, like ``Consumer.arrow``.

        Example:
            >>> with client.consumer("orders") as consumer:
            ...     stream = consumer.streams(1)[0]
            ...     next(stream.arrow(columns=["offset"])).num_rows
            3
        """

    def commit(self, message: Message[Any]) -> None:
        """Commits all messages of the partition up to and including this message, for the group.

        Raises:
            BrokerError: The partition is no longer assigned to this member.
            ConfigError: The consumer has no group.

        Example:
            >>> with client.consumer("orders", group="billing", commit="manual") as consumer:
            ...     stream = consumer.streams(1)[0]
            ...     stream.commit(next(stream))
            >>> client.admin.group("billing").committed()
            {('orders', 0): 1}
        """
