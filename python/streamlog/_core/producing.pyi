"""Producers, the tickets of what is on its way, and where it came to lie."""

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
    """Publishes records. May be used by several threads.

    As a context manager it is closed at the end, so that everything is delivered or raised. One
    that nobody holds any more is closed too, and waits; what fails then is only printed.

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
        """Hands over a record. Waits only while the buffer is full or the topic not yet known.

        Args:
            topic: Where it goes.
            value: What it says: bytes, what the producer's ``value=`` makes bytes of, or a text if
                the producer has an ``encoding=``. None is a tombstone.
            key: The same, by the producer's ``key=``. Records of one key go to one partition, in
                order.
            headers: Names and values beside it.
            partition: Where it goes within the topic; by the key if omitted.
            timestamp: Its time, milliseconds since 1970 if a number; now if omitted.

        Raises:
            RequestTimeout: There was no room for ``send_timeout`` seconds.
            TopicNotFound: There is no such topic or partition.
            MessageTooLarge: It is larger than ``max_request_size``.
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
        """Hands over a record for each item, and returns how many.

        Args:
            topic: Where they go.
            items: The values, or what ``key`` and ``value`` make them of.
            key: Makes an item's key; texts are encoded as UTF-8.
            value: Makes an item's value; texts are encoded as UTF-8.

        Raises:
            StreamlogError: As ``send`` does. What was not delivered is raised by ``flush``.

        Example:
            >>> with client.producer() as producer:
            ...     producer.send_all("orders", [{"id": 3}, {"id": 4}], value=json.dumps)
            2
        """

    def _send_columns(
        self, topic: str | None, rows: int, parts: dict[str, tuple[object, ...]]
    ) -> None:
        """Hands over a record for each row of some columns, for the sink of Spark.

        Columns are memory views of Arrow's buffers: the bits of validity (or None), the ends of
        the values, and their bytes; for numbers, the bits and the numbers.
        """

    def flush(self, timeout: float | None = None) -> None:
        """Waits until everything handed over before has been delivered, or has failed.

        Raises:
            DeliveryError: Records failed, and nobody had asked their tickets.
            RequestTimeout: It took longer than ``timeout`` seconds.

        Example:
            >>> producer = client.producer()
            >>> ticket = producer.send("orders", b"payload")
            >>> producer.flush(timeout=30.0)
            >>> ticket.done()
            True
        """

    def close(self, timeout: float | None = None) -> None:
        """Takes no more records and flushes. Doing it again does nothing.

        Raises:
            DeliveryError: Records failed, and nobody had asked their tickets.
            RequestTimeout: It took longer than ``timeout`` seconds; what is left is given up.

        Example:
            >>> producer = client.producer()
            >>> producer.close(timeout=5.0)
            >>> producer.send("orders", b"payload")
            Traceback (most recent call last):
            streamlog.errors.Closed: ...
        """

    def __class_getitem__(cls, item: object) -> GenericAlias:
        """The class with the types of the values and keys that it sends."""

    def __enter__(self) -> Self:
        """The producer itself."""

    def __exit__(self, _kind: object, error: object, _trace: object, /) -> None:
        """Closes it; an error of the block goes on, with a note about what was not delivered."""

@final
class Ticket:
    """A record on its way.

    Example:
        >>> ticket = client.producer().send("orders", b"payload")
        >>> ticket.result(timeout=5.0)
        RecordMetadata("orders", partition=0, offset=3)
    """

    def result(self, timeout: float | None = None) -> RecordMetadata:
        """Waits until the record is delivered, and says where it is.

        Raises:
            RequestTimeout: It took longer than ``timeout`` seconds; the delivery goes on.
            StreamlogError: The reason why it was not delivered.

        Example:
            >>> client.producer().send("orders", b"payload").result(timeout=5.0).partition
            0
        """

    def exception(self, timeout: float | None = None) -> Exception | None:
        """Waits until the outcome is known: None if the record is delivered, or why it is not.

        Raises:
            RequestTimeout: It took longer than ``timeout`` seconds; the delivery goes on.

        Example:
            >>> client.producer().send("orders", b"payload").exception(timeout=5.0) is None
            True
        """

    def done(self) -> bool:
        """Whether the outcome is known.

        Example:
            >>> ticket = client.producer().send("orders", b"payload")
            >>> ticket.exception() is None, ticket.done()
            (True, True)
        """

@final
class RecordMetadata:
    """Where a delivered record is.

    Example:
        >>> placed = client.producer().send("orders", b"payload").result()
        >>> placed.topic, placed.partition, placed.offset
        ('orders', 0, 3)
    """

    __match_args__: Final = ("topic", "partition", "offset", "timestamp")

    def __new__(cls, topic: str, partition: int, offset: int | None, timestamp_ms: int) -> Self:
        """Only unpickling calls it."""

    @property
    def topic(self) -> str:
        """Its topic."""

    @property
    def partition(self) -> int:
        """Its partition."""

    @property
    def offset(self) -> int | None:
        """Its offset; None with ``acks=0``."""

    @property
    def timestamp(self) -> datetime | None:
        """Its time, in UTC."""

    @property
    def timestamp_ms(self) -> int:
        """Its time in milliseconds since 1970."""

    def __eq__(self, other: object, /) -> bool:
        """Whether all of it is equal."""

    def __hash__(self) -> int:
        """Equal ones have one hash."""

    def __getnewargs__(self) -> tuple[str, int, int | None, int]:
        """What it is made of."""
