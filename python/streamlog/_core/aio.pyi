"""The implementation of ``streamlog.aio``: futures of a client, polled by an asyncio loop.

Call functions that return a future in the event loop that the future belongs to.
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
    """The running event loop, on behalf of one client."""

    def __new__(cls) -> Self:
        """Attaches to the running loop."""

    def fileno(self) -> int:
        """Returns a descriptor that is readable when ``drain`` has work."""

    def drain(self) -> None:
        """Polls woken futures, and sets the results of their asyncio futures."""

    def close(self) -> None:
        """Fails the futures that still wait, and all further ones, with ``Closed``."""

@final
class Reader(Generic[_V, _K]):
    """Takes messages for an event loop."""

    def __new__(
        cls,
        event_loop: EventLoop,
        source: Consumer[_V, _K] | Stream[_V, _K] | UntilEnd[_V, _K] | Range,
    ) -> Self:
        """Takes the messages of `source`."""

    def take(self) -> Message[_V, _K] | None:
        """Returns the next message; None if ``arrived`` has to be awaited first.

        Raises:
            StopAsyncIteration: There are no more messages.
        """

    def take_more(self, count: int) -> list[Message[_V, _K]]:
        """Returns up to `count` available messages; messages taken before stay unprocessed."""

    @property
    def is_over(self) -> bool:
        """Returns true if the next call raises an error instead of returning a message."""

    def arrived(self) -> Future[None]:
        """Returns a future that is done once there may be a message."""

    def commit(self, messages: Sequence[Message[Any]] | None = None) -> Future[None]:
        """Commits these messages and all messages before them, or all delivered messages."""

    def close(self) -> Future[None]:
        """Ends reading, and leaves the group."""

@final
class Prepared:
    """A record that is not queued yet."""

    @property
    def topic(self) -> str:
        """Its topic."""

    @property
    def size(self) -> int:
        """Its approximate size in bytes."""

@final
class Outbox:
    """Publishes records for an event loop."""

    def __new__(cls, event_loop: EventLoop, producer: Producer[Any, Any]) -> Self:
        """Publishes by this producer."""

    @property
    def buffer(self) -> int:
        """The size of the buffer in bytes."""

    @property
    def undelivered(self) -> int:
        """The number of queued records without an outcome, or given up."""

    def knows(self, topic: str) -> bool:
        """Returns true if the topic's metadata is known, so that its records need not wait."""

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
        """Returns a record of the arguments."""

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
        """Queues a record and returns its ticket; if it has to wait, returns the record."""

    def hand_over(self, record: Prepared) -> Ticket | None:
        """Queues a record that has waited; returns None if it has to wait longer."""

    def making_way(self, record: Prepared) -> Future[Ticket | None]:
        """Returns a future of the ticket, or of None if the record has to be tried again."""

    def send_some(
        self,
        topic: str,
        items: Iterator[_T],
        key: Callable[[_T], bytes | bytearray | str | None] | None = None,
        value: Callable[[_T], bytes | bytearray | str | None] | None = None,
    ) -> tuple[int, Prepared | None, bool]:
        """Queues items; returns their number, the record that has to wait, and true at the end."""

    def settled(self, ticket: Ticket) -> Future[None]:
        """Returns a future that is done once the ticket has its outcome."""

    def flush(self) -> Future[None]:
        """Returns a future that is done once all queued records have their outcome."""

    def report(self) -> None:
        """Raises the errors of records whose tickets were not waited for, each once.

        Raises:
            DeliveryError: There are such errors.
        """

    def close(self) -> Future[None]:
        """Stops accepting records, and waits like ``flush``."""

    def give_up(self) -> None:
        """Stops accepting records, and drops those that are not delivered yet."""

def connect(
    event_loop: EventLoop, bootstrap: str | Sequence[str] | None = None, **options: object
) -> Future[_core.Client]:
    """Returns a client, once one of its addresses has answered."""

def close(event_loop: EventLoop, client: _core.Client) -> Future[None]:
    """Closes a client and all objects created from it."""

def consumer(
    event_loop: EventLoop, client: _core.Client, topics: str | Sequence[str], **options: object
) -> Future[Consumer[Any]]:
    """Returns a consumer, once its topics are found."""

def until_end(event_loop: EventLoop, consumer: Consumer[_V, _K]) -> Future[UntilEnd[_V, _K]]:
    """Returns an iterator up to the current ends, once they are known."""

def range(
    event_loop: EventLoop,
    client: _core.Client,
    topic: str,
    parts: Sequence[tuple[int, int, int]],
    decoders: Decoders | None = None,
) -> Future[Range]:
    """Returns the messages of a topic between offsets, once its partitions are found."""

def admin(event_loop: EventLoop, client: _core.Client) -> administration.Admin:
    """Returns an ``Admin`` whose methods return futures of their results."""
