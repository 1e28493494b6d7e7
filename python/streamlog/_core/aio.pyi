"""What ``streamlog.aio`` stands on: an event loop that polls, and what is polled by it.

Whatever returns a future here has to be called in the event loop that it belongs to.
"""

from asyncio import Future
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any, Generic, Self, TypeVar, final

from streamlog import _core
from streamlog._core import admin as administration
from streamlog._core.bounded import Range, UntilEnd
from streamlog._core.producing import Producer, Ticket, _Headers
from streamlog._core.reading import _K, _V, Consumer, Message, Stream
from streamlog.backwards import Decoders

__all__ = [
    "EventLoop",
    "Outbox",
    "Prepared",
    "Reader",
    "admin",
    "close",
    "connect",
    "consumer",
    "range",
    "until_end",
]

_T = TypeVar("_T")

@final
class EventLoop:
    """The running event loop, for one client."""

    def __new__(cls) -> Self:
        """Of the loop that runs."""

    def fileno(self) -> int:
        """What is readable when there is something to drain."""

    def drain(self) -> None:
        """Polls what was woken, and gives those who wait what came of it."""

    def close(self) -> None:
        """Tells those who still wait that it is closed."""

@final
class Reader(Generic[_V, _K]):
    """Takes messages for one loop."""

    def __new__(
        cls,
        event_loop: EventLoop,
        source: Consumer[_V, _K] | Stream[_V, _K] | UntilEnd[_V, _K] | Range,
    ) -> Self:
        """Takes those of the source."""

    def take(self) -> Message[_V, _K] | None:
        """The next message; None after which ``arrived`` is to be awaited.

        Raises:
            StopAsyncIteration: There will be no other.
        """

    def take_more(self, count: int) -> list[Message[_V, _K]]:
        """Up to so many messages that are there, beside those that are in hand already."""

    @property
    def is_over(self) -> bool:
        """Whether an error stands where the next message would be."""

    def arrived(self) -> Future[None]:
        """Done once there may be something to take."""

    def commit(self, messages: Sequence[Message[Any]] | None = None) -> Future[None]:
        """Stores that all up to these messages is done, or all that was given out."""

    def close(self) -> Future[None]:
        """Ends reading; a member leaves its group."""

@final
class Prepared:
    """A record that is not handed over yet."""

    @property
    def topic(self) -> str:
        """Its topic."""

    @property
    def size(self) -> int:
        """Bytes that it keeps."""

@final
class Outbox:
    """Publishes records for one loop."""

    def __new__(cls, event_loop: EventLoop, producer: Producer[Any, Any]) -> Self:
        """By way of the producer."""

    @property
    def buffer(self) -> int:
        """Bytes that may be on their way."""

    def prepare(
        self,
        topic: str,
        value: object,
        *,
        key: object = None,
        headers: _Headers | None = None,
        partition: int | None = None,
        timestamp: datetime | int | None = None,
    ) -> Prepared:
        """A record of what was given."""

    def send(
        self,
        topic: str,
        value: object,
        *,
        key: object = None,
        headers: _Headers | None = None,
        partition: int | None = None,
        timestamp: datetime | int | None = None,
    ) -> Ticket | Prepared:
        """Hands over a record, and returns its ticket; else the record, which has to wait."""

    def hand_over(self, record: Prepared) -> Ticket | None:
        """Hands over a record that waited, if it need not wait longer."""

    def making_way(self, record: Prepared) -> Future[Ticket | None]:
        """Its ticket once there was room for the record; None if it is to be tried again."""

    def send_some(
        self,
        topic: str,
        items: Iterator[_T],
        key: Callable[[_T], bytes | bytearray | str | None] | None = None,
        value: Callable[[_T], bytes | bytearray | str | None] | None = None,
    ) -> tuple[int, Prepared | None, bool]:
        """Hands over some items: how many, the one that has to wait, and if there are no more."""

    def settled(self, ticket: Ticket) -> Future[None]:
        """Done once the ticket has its outcome."""

    def flush(self) -> Future[None]:
        """Done once all that was handed over has its outcome; ``report`` says what failed."""

    def report(self) -> None:
        """Raises, once, what failed and nobody has asked about.

        Raises:
            DeliveryError: There is something of the kind.
        """

    def close(self) -> Future[None]:
        """Takes no more records, and waits as ``flush`` does."""

def connect(
    event_loop: EventLoop, bootstrap: str | Sequence[str] | None = None, **options: object
) -> Future[_core.Client]:
    """A client, once one of its addresses has answered."""

def close(event_loop: EventLoop, client: _core.Client) -> Future[None]:
    """Ends a client and all that was made from it."""

def consumer(
    event_loop: EventLoop, client: _core.Client, topics: str | Sequence[str], **options: object
) -> Future[Consumer[Any]]:
    """A consumer, once its topics are found."""

def until_end(event_loop: EventLoop, consumer: Consumer[_V, _K]) -> Future[UntilEnd[_V, _K]]:
    """What a consumer has before it now, once the ends are known."""

def range(
    event_loop: EventLoop,
    client: _core.Client,
    topic: str,
    parts: Sequence[tuple[int, int, int]],
    decoders: Decoders | None = None,
) -> Future[Range]:
    """The messages of a topic between offsets, once its partitions are found."""

def admin(event_loop: EventLoop, client: _core.Client) -> administration.Admin:
    """Administration whose methods return futures of what they return elsewhere."""
