"""A topic: the offsets of its partitions, and reading without a consumer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from heapq import merge
from typing import TYPE_CHECKING, Any

from streamlog._core import Client
from streamlog._core.arrow import ArrowBatches
from streamlog._core.bounded import open_range
from streamlog._core.reading import Message
from streamlog.arguments.counts import limited
from streamlog.backwards import Decoders, Span, by_time, newest_first
from streamlog.errors import ConfigError
from streamlog.partition import Partition
from streamlog.readable import Place, Readable, checked_place

if TYPE_CHECKING:
    from streamlog.descriptions import TopicDescription

__all__ = ["Topic", "clipped", "known", "same_offset"]


class Topic(Readable):
    """A topic. Its iterators read the existing messages and do not wait for new ones.

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
        """Created by ``Client.topic``; does not contact a broker."""
        self.name = name
        self._client = client

    def partitions(self) -> int:
        """Returns the number of partitions.

        Raises:
            TopicNotFound: There is no such topic.

        Example:
            >>> client.topic("orders").partitions()
            1
        """
        return len(self.end_offsets())

    def describe(self) -> TopicDescription:
        """Returns a description of its partitions and their brokers.

        Raises:
            TopicNotFound: There is no such topic.

        Example:
            >>> client.topic("orders").describe().is_internal
            False
        """
        return self._client.admin.topic(self.name)

    def partition(self, number: int) -> Partition:
        """Returns the partition of this number, without contacting a broker.

        Example:
            >>> client.topic("orders").partition(0).number
            0
        """
        return Partition(self._client, self.name, number)

    def begin_offsets(self) -> dict[int, int | None]:
        """Returns the first offset of each partition.

        Raises:
            TopicNotFound: There is no such topic.

        Example:
            >>> client.topic("orders").begin_offsets()
            {0: 0}
        """
        return self._client.admin.begin_offsets(self.name)

    def end_offsets(self) -> dict[int, int | None]:
        """Returns the offset after the last record of each partition.

        Raises:
            TopicNotFound: There is no such topic.

        Example:
            >>> client.topic("orders").end_offsets()
            {0: 3}
        """
        return self._client.admin.end_offsets(self.name)

    def offsets_at(self, time: datetime | timedelta) -> dict[int, int | None]:
        """Returns for each partition the first offset at or after a time, None if there is none.

        Raises:
            TopicNotFound: There is no such topic.
            ConfigError: The time has no time zone.

        Example:
            >>> client.topic("orders").offsets_at(datetime(2020, 1, 1, tzinfo=timezone.utc))
            {0: 0}
        """
        return self._client.admin.offsets_at(self.name, time)

    def arrow(
        self,
        start: Place | None = None,
        stop: Place | None = None,
        *,
        limit: int | None = None,
        columns: Sequence[str] | None = None,
        max_rows: int = 65_536,
        max_bytes: int | str = "4 MiB",
        max_wait: float = 0.2,
    ) -> ArrowBatches:
        """Iterates over Arrow record batches of the existing messages, as they are fetched.

        Args:
            start: The first position in each partition, as for ``read``. A negative number reads
                that many of the last messages of all partitions.
            stop: The end, excluded, in the same form; the current end if omitted.
            limit: The maximal number of rows of all batches.
            columns: As for ``Consumer.arrow``, like the arguments after it.
            max_rows: The maximal number of rows in a batch.
            max_bytes: The number of bytes at which a batch is full.
            max_wait: Seconds that a batch waits for more rows after its first.

        Raises:
            TopicNotFound: There is no such topic.
            MissingExtra: pyarrow is not installed.

        Example:
            >>> table = pyarrow.table(client.topic("orders").arrow(columns=["key", "value"]))
            >>> table.num_rows
            3
        """
        spans = self._newest(start, stop) or self._spans(start, stop)
        messages = open_range(self._client, self.name, spans)
        return messages.arrow(
            columns=columns,
            max_rows=max_rows,
            max_bytes=max_bytes,
            max_wait=max_wait,
            limit=limit,
        )

    def replay(
        self,
        since: Place,
        until: Place | None = None,
        *,
        where: Callable[[Message], object] | None = None,
    ) -> Iterator[Message]:
        """Iterates over a time range again, for messages that have to be processed again.

        Committed offsets of groups do not change.

        Args:
            since: The start of the range: a time, a timedelta from now, or an offset.
            until: The end of the range, excluded; the current end if omitted.
            where: A predicate that selects messages; all if omitted.

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

    def __repr__(self) -> str:
        """The class and the name."""
        return f"Topic({self.name!r})"

    def _read(
        self, start: Place | None, stop: Place | None, decoders: Decoders
    ) -> Iterator[Message[Any]]:
        if isinstance(start, int) and start < 0:
            checked_place(start)
            newest = list(limited(self._reversed(None, stop, decoders), -start))
            return iter(newest[::-1])
        spans = self._spans(start, stop)
        return open_range(self._client, self.name, spans, decoders=decoders)

    def _reversed(
        self, start: Place | None, stop: Place | None, decoders: Decoders
    ) -> Iterator[Message[Any]]:
        return self._merged(self._spans(start, stop), decoders)

    def _merged(
        self, spans: Sequence[Span], decoders: Decoders = (None, None)
    ) -> Iterator[Message[Any]]:
        logs = [newest_first(self._client, self.name, span, decoders) for span in spans]
        return merge(*logs, key=by_time, reverse=True)

    def _newest(self, start: Place | None, stop: Place | None) -> list[Span]:
        """Returns the spans of the last messages that a negative `start` counts; else none."""
        if not isinstance(start, int) or start >= 0:
            return []
        checked_place(start)
        spans = self._spans(None, stop)
        firsts: dict[int, int] = {}
        for message in limited(self._merged(spans), -start):
            firsts[message.partition] = message.offset
        return [(number, firsts.get(number, last), last) for number, _, last in spans]

    def _spans(self, start: Place | None, stop: Place | None) -> list[Span]:
        begins, ends = known(self.begin_offsets()), known(self.end_offsets())
        starts = begins if start is None else self._places("start", start, ends)
        stops = ends if stop is None else self._places("stop", stop, ends)
        return clipped(starts, stops, begins, ends)

    def _places(self, name: str, place: Place, ends: dict[int, int]) -> dict[int, int]:
        position = checked_place(place)
        if isinstance(position, datetime | timedelta):
            return ends | known(self.offsets_at(position))
        return same_offset(name, position, ends)


def known(offsets: dict[int, int | None]) -> dict[int, int]:
    """Returns the offsets of the partitions that have one."""
    return {number: offset for number, offset in offsets.items() if offset is not None}


def same_offset(name: str, offset: int, ends: dict[int, int]) -> dict[int, int]:
    """Returns the argument `name`, an offset, for each partition.

    Raises:
        ConfigError: It is negative.
    """
    if offset < 0:
        message = f"{name}: invalid value {offset}: it counts from the end of one partition"
        raise ConfigError(f"{message}, see partition()")
    return dict.fromkeys(ends, offset)


def clipped(
    starts: dict[int, int], stops: dict[int, int], begins: dict[int, int], ends: dict[int, int]
) -> list[Span]:
    """Returns the span of each partition, within its log."""
    return [
        (number, max(starts[number], begins.get(number, 0)), min(stops[number], end))
        for number, end in ends.items()
    ]


def _any(_message: Message[Any]) -> bool:
    return True
