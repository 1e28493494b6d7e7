"""A topic as a whole: where its logs begin and end, and reading it without a consumer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from heapq import merge
from typing import TYPE_CHECKING, Any, TypeVar, overload

from streamlog._core import Client
from streamlog._core.arrow import ArrowBatches
from streamlog._core.bounded import Range
from streamlog._core.reading import Message
from streamlog.backwards import Decoders, by_time, newest_first
from streamlog.counts import limited
from streamlog.errors import ConfigError
from streamlog.partition import Decoder, Partition, Place, check_place

if TYPE_CHECKING:
    from streamlog.descriptions import TopicDescription

__all__ = ["Topic"]

_T = TypeVar("_T")
_Spans = list[tuple[int, int, int]]


class Topic:
    """A topic. What is read by it is what is there now: no iterator of it waits for more.

    Example:
        >>> orders = client.topic("orders")
        >>> [message.offset for message in orders.read(start=-2)]
        [1, 2]
        >>> [message.offset for message in orders.reversed(limit=2)]
        [2, 1]
    """

    name: str
    """Its name."""

    def __init__(self, client: Client, name: str) -> None:
        """Client.topic makes it; no broker is asked."""
        self.name = name
        self._client = client

    def partitions(self) -> int:
        """How many partitions it has.

        Raises:
            TopicNotFound: There is no such topic.

        Example:
            >>> client.topic("orders").partitions()
            1
        """
        return len(self.end_offsets())

    def describe(self) -> TopicDescription:
        """Its partitions, and which brokers have them.

        Raises:
            TopicNotFound: There is no such topic.

        Example:
            >>> client.topic("orders").describe().is_internal
            False
        """
        return self._client.admin.topic(self.name)

    def partition(self, number: int) -> Partition:
        """The partition of this number; no broker is asked yet.

        Example:
            >>> client.topic("orders").partition(0).number
            0
        """
        return Partition(self._client, self.name, number)

    def begin_offsets(self) -> dict[int, int | None]:
        """The first offset of each partition.

        Raises:
            TopicNotFound: There is no such topic.

        Example:
            >>> client.topic("orders").begin_offsets()
            {0: 0}
        """
        return self._client.admin.begin_offsets(self.name)

    def end_offsets(self) -> dict[int, int | None]:
        """The offset after the last record of each partition.

        Raises:
            TopicNotFound: There is no such topic.

        Example:
            >>> client.topic("orders").end_offsets()
            {0: 3}
        """
        return self._client.admin.end_offsets(self.name)

    def offsets_at(self, time: datetime | timedelta) -> dict[int, int | None]:
        """The first offset of that time or later, of each partition; None where there is none.

        Raises:
            TopicNotFound: There is no such topic.
            ConfigError: The time has no time zone.

        Example:
            >>> client.topic("orders").offsets_at(datetime(2020, 1, 1, tzinfo=timezone.utc))
            {0: 0}
        """
        return self._client.admin.offsets_at(self.name, time)

    @overload
    def read(
        self,
        start: Place | None = None,
        stop: Place | None = None,
        *,
        limit: int | None = None,
        key: Decoder[Any] | None = None,
        value: None = None,
    ) -> Iterator[Message]: ...
    @overload
    def read(
        self,
        start: Place | None = None,
        stop: Place | None = None,
        *,
        limit: int | None = None,
        key: Decoder[Any] | None = None,
        value: Decoder[_T],
    ) -> Iterator[Message[_T | None]]: ...
    def read(
        self,
        start: Place | None = None,
        stop: Place | None = None,
        *,
        limit: int | None = None,
        key: Decoder[Any] | None = None,
        value: Decoder[Any] | None = None,
    ) -> Iterator[Message[Any]]:
        """Iterates over what there is now, partition by partition as it comes.

        Args:
            start: Where to begin in each partition: an offset, an aware datetime, a timedelta from
                now; the first message if omitted. A negative number is that many of the last
                messages over all partitions, in the order of their times.
            stop: Where to end, in the same way; the end as it is now if omitted.
            limit: At most so many messages.
            key: Decodes the keys, as for ``Client.consumer``.
            value: Decodes the values; tombstones stay None.

        Raises:
            DecodeError: A key or a value cannot be decoded; the next call has the next message.
            TopicNotFound: There is no such topic.
            ConfigError: The time has no time zone.

        Example:
            >>> [message.offset for message in client.topic("orders").read(start=1, limit=1)]
            [1]
            >>> next(client.topic("orders").read(value=json.loads)).value
            {'id': 0}
        """
        decoders = (key, value)
        if isinstance(start, int) and start < 0:
            check_place(start)
            newest = list(limited(self._backwards(None, stop, decoders), -start))
            return limited(reversed(newest), limit)
        spans = self._spans(start, stop)
        return limited(Range(self._client, self.name, spans, decoders=decoders), limit)

    @overload
    def reversed(
        self,
        start: Place | None = None,
        stop: Place | None = None,
        *,
        limit: int | None = None,
        key: Decoder[Any] | None = None,
        value: None = None,
    ) -> Iterator[Message]: ...
    @overload
    def reversed(
        self,
        start: Place | None = None,
        stop: Place | None = None,
        *,
        limit: int | None = None,
        key: Decoder[Any] | None = None,
        value: Decoder[_T],
    ) -> Iterator[Message[_T | None]]: ...
    def reversed(
        self,
        start: Place | None = None,
        stop: Place | None = None,
        *,
        limit: int | None = None,
        key: Decoder[Any] | None = None,
        value: Decoder[Any] | None = None,
    ) -> Iterator[Message[Any]]:
        """Iterates over the same messages, the newest of all partitions first.

        Raises:
            TopicNotFound: There is no such topic.

        Example:
            >>> [message.offset for message in client.topic("orders").reversed()]
            [2, 1, 0]
        """
        return limited(self._backwards(start, stop, (key, value)), limit)

    def arrow(
        self,
        start: Place | None = None,
        stop: Place | None = None,
        *,
        columns: Sequence[str] | None = None,
        max_rows: int = 65_536,
        max_bytes: int | str = "4 MiB",
        max_wait: float = 0.2,
    ) -> ArrowBatches:
        """Iterates over Arrow record batches of what there is now, of each partition as it comes.

        Args:
            start: Where to begin in each partition: an offset, an aware datetime, a timedelta from
                now; the first message if omitted.
            stop: Where to end, in the same way; the end as it is now if omitted.
            columns: As for ``Consumer.arrow``, and so are the others.
            max_rows: The most rows that a batch has.
            max_bytes: Bytes at which a batch is full.
            max_wait: Seconds that a batch waits for more after its first row.

        Raises:
            TopicNotFound: There is no such topic.
            MissingExtra: pyarrow is not installed.

        Example:
            >>> table = pyarrow.table(client.topic("orders").arrow(columns=["key", "value"]))
            >>> table.num_rows
            3
        """
        messages = Range(self._client, self.name, self._spans(start, stop))
        return messages.arrow(
            columns=columns, max_rows=max_rows, max_bytes=max_bytes, max_wait=max_wait
        )

    def replay(
        self,
        since: Place,
        until: Place | None = None,
        *,
        where: Callable[[Message], object] | None = None,
    ) -> Iterator[Message]:
        """Iterates over what has to be processed again: a stretch of time, and what of it is meant.

        Groups are not touched: what they have committed stays.

        Args:
            since: Where the stretch begins: a time, a timedelta from now, or an offset.
            until: Where it ends; the end as it is now if omitted.
            where: Whether a message is meant; all if omitted.

        Raises:
            TopicNotFound: There is no such topic.

        Example:
            >>> def is_meant(message):
            ...     return message.key == b"ada"
            >>> again = client.topic("orders").replay(timedelta(hours=-2), where=is_meant)
            >>> [message.offset for message in again]
            [0, 2]
        """
        return filter(where or _any, self.read(since, until))

    def __iter__(self) -> Iterator[Message]:
        """All messages up to the end as it is now."""
        return self.read()

    def __repr__(self) -> str:
        """The class and the name."""
        return f"Topic({self.name!r})"

    def _backwards(
        self, start: Place | None, stop: Place | None, decoders: Decoders
    ) -> Iterator[Message[Any]]:
        spans = self._spans(start, stop)
        logs = [newest_first(self._client, self.name, span, decoders) for span in spans]
        return merge(*logs, key=by_time, reverse=True)

    def _spans(self, start: Place | None, stop: Place | None) -> _Spans:
        begins, ends = _known(self.begin_offsets()), _known(self.end_offsets())
        starts = begins if start is None else self._places("start", start, ends)
        stops = ends if stop is None else self._places("stop", stop, ends)
        return [
            (number, max(starts[number], begins.get(number, 0)), min(stops[number], end))
            for number, end in ends.items()
        ]

    def _places(self, name: str, place: Place, ends: dict[int, int]) -> dict[int, int]:
        check_place(place)
        if isinstance(place, datetime | timedelta):
            return ends | _known(self.offsets_at(place))
        if place < 0:
            message = f"{name}: {place} does not fit: it counts from the end of one partition"
            raise ConfigError(f"{message}, see partition()")
        return dict.fromkeys(ends, place)


def _known(offsets: dict[int, int | None]) -> dict[int, int]:
    return {number: offset for number, offset in offsets.items() if offset is not None}


def _any(_message: Message[Any]) -> bool:
    return True
