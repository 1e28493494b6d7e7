"""A partition of a topic, read by offset in either direction."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Literal, SupportsIndex, TypeVar, overload

from streamlog._core import Client
from streamlog._core.arrow import ArrowBatches
from streamlog._core.bounded import open_range
from streamlog._core.reading import Message
from streamlog.backwards import Decoders, newest_first
from streamlog.errors import ConfigError, TopicNotFound
from streamlog.readable import Place, Readable, checked_place

__all__ = ["Partition", "offset_of", "sliced"]

_T = TypeVar("_T")


class Partition(Readable):
    """A partition of a topic.

    It can be sliced like a sequence; slices are half-open. Offsets without a record are skipped.

    Example:
        >>> orders = client.topic("orders").partition(0)
        >>> [message.offset for message in orders[1:3]]
        [1, 2]
        >>> [message.offset for message in orders[-2:]]
        [1, 2]
        >>> [message.offset for message in orders[::-1]]
        [2, 1, 0]
        >>> orders[1].value
        b'{"id": 1}'
    """

    topic: str
    """The name of its topic."""
    number: int
    """Its number."""

    def __init__(self, client: Client, topic: str, number: int) -> None:
        """Created by ``Client.topic(...).partition(...)``; does not contact a broker."""
        self.topic = topic
        self.number = number
        self._client = client

    def begin_offset(self) -> int:
        """The first offset that can be read.

        Raises:
            TopicNotFound: There is no such partition.

        Example:
            >>> client.topic("orders").partition(0).begin_offset()
            0
        """
        return offset_of(self._client.admin.begin_offsets(self.topic), self.topic, self.number)

    def end_offset(self) -> int:
        """The offset after the last message.

        Raises:
            TopicNotFound: There is no such partition.

        Example:
            >>> client.topic("orders").partition(0).end_offset()
            3
        """
        return offset_of(self._client.admin.end_offsets(self.topic), self.topic, self.number)

    def arrow(
        self,
        start: Place | None = None,
        stop: Place | None = None,
        *,
        limit: int | None = None,
        on_out_of_range: Literal["earliest", "error"] = "earliest",
        columns: Sequence[str] | None = None,
        max_rows: int = 65_536,
        max_bytes: int | str = "4 MiB",
        max_wait: float = 0.2,
    ) -> ArrowBatches:
        """Iterates over Arrow record batches of the messages from `start` to before `stop`.

        Args:
            start: The first position; the first message if omitted.
            stop: The end, excluded; the current end if omitted, and never beyond it.
            limit: The maximal number of rows of all batches.
            on_out_of_range: If the log no longer has `start`, ``"earliest"`` begins with its first
                message, and ``"error"`` raises OffsetOutOfRange.
            columns: As for ``Consumer.arrow``, like the arguments after it.
            max_rows: The maximal number of rows in a batch.
            max_bytes: The number of bytes at which a batch is full.
            max_wait: Seconds that a batch waits for more rows after its first.

        Raises:
            TopicNotFound: There is no such partition.
            MissingExtra: pyarrow is not installed.

        Example:
            >>> batches = client.topic("orders").partition(0).arrow(1, 3, columns=["offset"])
            >>> [batch.num_rows for batch in batches]
            [2]
            >>> batches.positions()  # how far it got, whatever the gaps
            {('orders', 0): 3}
        """
        begin, first, last = self._bounds(start, stop)
        if on_out_of_range == "earliest":
            first = max(first, begin)
        span = [(self.number, first, last)]
        messages = open_range(self._client, self.topic, span, on_out_of_range)
        return messages.arrow(
            columns=columns,
            max_rows=max_rows,
            max_bytes=max_bytes,
            max_wait=max_wait,
            limit=limit,
        )

    @overload
    def __getitem__(self, wanted: SupportsIndex) -> Message: ...
    @overload
    def __getitem__(self, wanted: slice) -> Iterator[Message]: ...
    def __getitem__(self, wanted: Any) -> Any:
        """Returns the message at an offset, or an iterator over a slice with step 1 or -1.

        Raises:
            IndexError: No message has this offset.
            ConfigError: The slice has another form than ``[START:STOP]`` or ``[::-1]``.
        """
        if not isinstance(wanted, slice):
            return self._at(int(wanted))
        return sliced(wanted, self.read, self.reversed)

    def __len__(self) -> int:
        """The number of offsets from the first message to the current end.

        After compaction there are fewer messages. If offsets count bytes, it is a number of bytes.

        Raises:
            TopicNotFound: There is no such partition.

        Example:
            >>> len(client.topic("orders").partition(0))
            3
        """
        return self.end_offset() - self.begin_offset()

    def __bool__(self) -> bool:
        """Returns true, also for an empty partition, without contacting a broker."""
        return True

    def __reversed__(self) -> Iterator[Message]:
        """Iterates over all messages, the newest first."""
        return self.reversed()

    def __repr__(self) -> str:
        """The calls that create it."""
        return f"Topic({self.topic!r}).partition({self.number})"

    def _read(
        self, start: Place | None, stop: Place | None, decoders: Decoders
    ) -> Iterator[Message[Any]]:
        begin, first, last = self._bounds(start, stop)
        span = [(self.number, max(first, begin), last)]
        return open_range(self._client, self.topic, span, decoders=decoders)

    def _reversed(
        self, start: Place | None, stop: Place | None, decoders: Decoders
    ) -> Iterator[Message[Any]]:
        begin, first, last = self._bounds(start, stop)
        span = (self.number, max(first, begin), last)
        return newest_first(self._client, self.topic, span, decoders)

    def _bounds(self, start: Place | None, stop: Place | None) -> tuple[int, int, int]:
        """Returns the log's first offset, and the offsets of `start` and of `stop`."""
        begin, end = self.begin_offset(), self.end_offset()
        first = begin if start is None else self._offset(start, begin, end)
        last = end if stop is None else self._offset(stop, begin, end)
        return begin, first, min(last, end)

    def _at(self, offset: int) -> Message:
        found = self.read(offset, limit=1) if offset < 0 else self.read(offset, offset + 1)
        for message in found:
            return message
        raise IndexError(f"no message has offset {offset} in {self.topic}-{self.number}")

    def _offset(self, place: Place, begin: int, end: int) -> int:
        position = checked_place(place)
        if isinstance(position, datetime | timedelta):
            found = self._client.admin.offsets_at(self.topic, position).get(self.number)
            return end if found is None else found
        if position >= 0:
            return position
        span = (self.number, begin, end)
        newest = islice(newest_first(self._client, self.topic, span), -position)
        return min((message.offset for message in newest), default=end)


def offset_of(offsets: dict[int, int | None], topic: str, number: int) -> int:
    """Returns the offset of a partition.

    Raises:
        TopicNotFound: There is no such partition.
    """
    if number not in offsets:
        message = f"there is no partition {number} of '{topic}'"
        raise TopicNotFound(message, f"{topic}-{number}")
    return offsets[number] or 0


def sliced(wanted: slice, read: Callable[[Any, Any], _T], backwards: Callable[[], _T]) -> _T:
    """Reads the range of a slice, or everything backwards for ``[::-1]``.

    Raises:
        ConfigError: The slice has another form than these.
    """
    if wanted.step in (None, 1):
        return read(wanted.start, wanted.stop)
    if wanted.step == -1 and wanted.start is None and wanted.stop is None:
        return backwards()
    message = f"slice: invalid value [{wanted.start}:{wanted.stop}:{wanted.step}]: expected "
    raise ConfigError(message + "[START:STOP] or [::-1]")
