"""Producers, delivery tickets, and the metadata of delivered records."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from types import GenericAlias
from typing import Any, Final, Generic, Self, TypeAlias, final, overload

from typing_extensions import TypeVar

__all__ = [
    "Producer",
    "RecordMetadata",
    "Ticket",
]

_T = TypeVar("_T")
_S = TypeVar("_S", contravariant=True, default=bytes | bytearray)
_KS = TypeVar("_KS", contravariant=True, default=bytes | bytearray)
_Made: TypeAlias = bytes | bytearray | str | None
_HeaderValue: TypeAlias = bytes | str | None
_Headers: TypeAlias = Mapping[str, _HeaderValue] | Iterable[tuple[str, _HeaderValue]]

@final
class Producer(Generic[_S, _KS]):
    """Publishes records. Thread-safe.

    As a context manager it is closed at the end, which delivers all records or raises. Dropping
    the last reference closes a producer too, waits for the delivery, and only prints errors.

    Example:
        >>> with client.producer() as producer:
        ...     for number in range(3, 100):
        ...         ticket = producer.send("orders", b"%d" % number)
        >>> client.topic("orders").partition(0).end_offset()
        100
    """

    def send(
        self,
        topic: str,
        value: _S | None,
        *,
        key: _KS | None = None,
        headers: _Headers | None = None,
        partition: int | None = None,
        timestamp: datetime | int | None = None,
    ) -> Ticket:
        """Queues a record. Waits only while the buffer is full or the topic's metadata is missing.

        Args:
            topic: The target topic.
            value: The value: bytes, a type accepted by the producer's ``value=``, or a text if the
                producer has an ``encoding=``. None is a tombstone.
            key: The key, in the same form with the producer's ``key=``. Records with the same key
                go to the same partition, in order.
            headers: The headers, as names and values.
            partition: The target partition; chosen by the key if omitted.
            timestamp: The timestamp, in milliseconds since 1970 if a number; now if omitted.

        Raises:
            RequestTimeout: The buffer was full, or the topic's metadata missing, for
                ``send_timeout`` seconds.
            TopicNotFound: There is no such topic or partition.
            MessageTooLarge: The record is larger than ``max_request_size``.
            Closed: The producer was closed.

        Example:
            >>> producer = client.producer()
            >>> ticket = producer.send("orders", b"payload", key=b"42", headers={"trace": b"ab12"})
            >>> ticket.result(timeout=5.0).offset
            3
        """

    @overload
    def send_all(
        self,
        topic: str,
        items: Iterable[_S | None],
        *,
        key: Callable[[Any], _Made] | None = None,
        value: None = None,
    ) -> int: ...
    @overload
    def send_all(
        self,
        topic: str,
        items: Iterable[_T],
        *,
        key: Callable[[_T], _Made] | None = None,
        value: Callable[[_T], _Made],
    ) -> int:
        """Queues a record for each item, and returns their number.

        Args:
            topic: The target topic.
            items: The values, or the arguments of ``key`` and ``value``.
            key: Makes the key of an item; texts are encoded as UTF-8.
            value: Makes the value of an item; texts are encoded as UTF-8.

        Raises:
            StreamlogError: As for ``send``. Delivery errors are raised by ``flush``.

        Example:
            >>> with client.producer() as producer:
            ...     producer.send_all("orders", [{"id": 3}, {"id": 4}], value=json.dumps)
            2
        """

    def _send_columns(
        self, topic: str | None, rows: int, parts: dict[str, tuple[object, ...]]
    ) -> None:
        """Queues a record for each row of some columns, for the Spark sink.

        Columns are memory views of Arrow's buffers: the validity bitmap (or None), the end offsets
        of the values, and their bytes; for numbers, the bitmap and the numbers.
        """

    def flush(self, timeout: float | None = None) -> None:
        """Waits until all records sent before have been delivered, or have failed.

        Raises:
            DeliveryError: Records failed, and their tickets were not waited for.
            RequestTimeout: It took longer than ``timeout`` seconds.

        Example:
            >>> producer = client.producer()
            >>> ticket = producer.send("orders", b"payload")
            >>> producer.flush(timeout=30.0)
            >>> ticket.done()
            True
        """

    def close(self, timeout: float | None = None) -> None:
        """Stops accepting records, and flushes. Idempotent.

        Raises:
            DeliveryError: Records failed, and their tickets were not waited for.
            RequestTimeout: It took longer than ``timeout`` seconds; the other records are dropped.

        Example:
            >>> producer = client.producer()
            >>> producer.close(timeout=5.0)
            >>> producer.send("orders", b"payload")
            Traceback (most recent call last):
            streamlog.errors.Closed: ...
        """

    def __class_getitem__(cls, item: object) -> GenericAlias:
        """The class with the types of values and keys."""

    def __enter__(self) -> Self:
        """The producer itself."""

    def __exit__(self, _kind: object, error: object, _trace: object, /) -> None:
        """Closes it; an error of the block propagates, with a note about delivery errors."""

@final
class Ticket:
    """The pending delivery of a record.

    Example:
        >>> ticket = client.producer().send("orders", b"payload")
        >>> ticket.result(timeout=5.0)
        RecordMetadata("orders", partition=0, offset=3)
    """

    def result(self, timeout: float | None = None) -> RecordMetadata:
        """Waits until the record is delivered, and returns its position.

        Raises:
            RequestTimeout: It took longer than ``timeout`` seconds; delivery continues.
            StreamlogError: The record was not delivered, for this reason.

        Example:
            >>> client.producer().send("orders", b"payload").result(timeout=5.0).partition
            0
        """

    def exception(self, timeout: float | None = None) -> Exception | None:
        """Waits until the outcome is known, and returns the delivery error or None.

        Raises:
            RequestTimeout: It took longer than ``timeout`` seconds; delivery continues.

        Example:
            >>> client.producer().send("orders", b"payload").exception(timeout=5.0) is None
            True
        """

    def done(self) -> bool:
        """Returns true if the outcome is known.

        Example:
            >>> ticket = client.producer().send("orders", b"payload")
            >>> ticket.exception() is None, ticket.done()
            (True, True)
        """

@final
class RecordMetadata:
    """The position of a delivered record.

    Example:
        >>> placed = client.producer().send("orders", b"payload").result()
        >>> placed.topic, placed.partition, placed.offset
        ('orders', 0, 3)
    """

    __match_args__: Final = ("topic", "partition", "offset", "timestamp")

    def __new__(cls, topic: str, partition: int, offset: int | None, timestamp_ms: int) -> Self:
        """Called by unpickling only."""

    @property
    def topic(self) -> str:
        """Its topic."""

    @property
    def partition(self) -> int:
        """Its partition."""

    @property
    def offset(self) -> int | None:
        """Its offset; None with ``acks=0``, or if the broker does not report it."""

    @property
    def timestamp(self) -> datetime | None:
        """Its timestamp, in UTC; None if it has none.

        Raises:
            ValueError: It is outside the years 1 to 9999: read ``timestamp_ms``.
        """

    @property
    def timestamp_ms(self) -> int:
        """Its timestamp in milliseconds since 1970."""

    def __eq__(self, other: object, /) -> bool:
        """True if all attributes are equal."""

    def __hash__(self) -> int:
        """A hash that is equal for equal objects."""

    def __getnewargs__(self) -> tuple[str, int, int | None, int]:
        """The arguments for unpickling."""
