"""Producers, the tickets of what is on its way, and where it came to lie."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Final, Self, TypeAlias, TypeVar, final

__all__ = [
    "Producer",
    "RecordMetadata",
    "Ticket",
]

_T = TypeVar("_T")
_Headers: TypeAlias = Mapping[str, bytes | None] | Iterable[tuple[str, bytes | None]]

@final
class Producer:
    """Publishes records. May be used by several threads.

    As a context manager it is closed at the end, so that everything is delivered or raised. One
    that nobody holds any more is closed too, and waits; what fails then is only printed.
    """

    def send(
        self,
        topic: str,
        value: object,
        *,
        key: object = None,
        headers: _Headers | None = None,
        partition: int | None = None,
        timestamp: datetime | int | None = None,
    ) -> Ticket:
        """Hands over a record. Waits only while the buffer is full or the topic not yet known.

            producer.send("orders", b"payload", key=b"42", headers={"trace": b"ab12"}).result()

        Args:
            topic: Where it goes.
            value: What it says: bytes, or what the producer's ``value=`` makes bytes of. None is a
                tombstone.
            key: Bytes, or what the producer's ``key=`` makes bytes of. Records of
                one key go to one partition, in order.
            headers: Names and values beside it.
            partition: Where it goes within the topic; by the key if omitted.
            timestamp: Its time, milliseconds since 1970 if a number; now if omitted.

        Raises:
            RequestTimeout: There was no room for ``send_timeout`` seconds.
            TopicNotFound: There is no such topic or partition.
            MessageTooLarge: It is larger than ``max_request_size``.
            Closed: The producer was closed.
        """

    def send_all(
        self,
        topic: str,
        items: Iterable[_T],
        *,
        key: Callable[[_T], bytes | str | None] | None = None,
        value: Callable[[_T], bytes | str | None] | None = None,
    ) -> int:
        """Hands over a record for each item, and returns how many.

        Args:
            topic: Where they go.
            items: The values, or what ``key`` and ``value`` make them of.
            key: Makes an item's key; texts are encoded as UTF-8.
            value: Makes an item's value; texts are encoded as UTF-8.

        Raises:
            StreamlogError: As ``send`` does. What was not delivered is raised by ``flush``.
        """

    def flush(self, timeout: float | None = None) -> None:
        """Waits until everything handed over before has been delivered, or has failed.

        Raises:
            DeliveryError: Records failed, and nobody had asked their tickets.
            RequestTimeout: It took longer than ``timeout`` seconds.
        """

    def close(self, timeout: float | None = None) -> None:
        """Takes no more records and flushes. Doing it again does nothing.

        Raises:
            DeliveryError: Records failed, and nobody had asked their tickets.
            RequestTimeout: It took longer than ``timeout`` seconds; what is left is given up.
        """

    def __enter__(self) -> Self:
        """The producer itself."""

    def __exit__(self, _kind: object, error: object, _trace: object, /) -> None:
        """Closes it; an error of the block goes on, with a note about what was not delivered."""

@final
class Ticket:
    """A record on its way."""

    def result(self, timeout: float | None = None) -> RecordMetadata:
        """Waits until the record is delivered, and says where it is.

        Raises:
            RequestTimeout: It took longer than ``timeout`` seconds; the delivery goes on.
            StreamlogError: The reason why it was not delivered.
        """

    def exception(self, timeout: float | None = None) -> Exception | None:
        """Waits until the outcome is known: None if the record is delivered, or why it is not.

        Raises:
            RequestTimeout: It took longer than ``timeout`` seconds; the delivery goes on.
        """

    def done(self) -> bool:
        """Whether the outcome is known."""

@final
class RecordMetadata:
    """Where a delivered record is."""

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
