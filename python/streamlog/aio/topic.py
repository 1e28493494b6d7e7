"""A topic: the offsets of its partitions, and reading without a consumer."""

from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar, overload

from streamlog._core.reading import Message
from streamlog.aio.backwards import newest_first, newest_of_all
from streamlog.aio.messages import limited
from streamlog.aio.partition import Partition
from streamlog.backwards import Decoders
from streamlog.descriptions import TopicDescription
from streamlog.errors import ConfigError
from streamlog.partition import Decoder, Place, check_place

if TYPE_CHECKING:
    from streamlog.aio.client import Client

__all__ = ["Topic"]

_T = TypeVar("_T")
_Spans = list[tuple[int, int, int]]


class Topic:
    """A topic. Its iterators read the existing messages and do not wait for new ones.

    Example:
        >>> orders = client.topic("orders")
        >>> [message.offset async for message in orders.read(start=-2)]
        [1, 2]
    """

    name: str
    """Its name."""

    def __init__(self, client: "Client", name: str) -> None:
        """Created by ``Client.topic``; does not contact a broker."""
        self.name = name
        self._client = client

    async def partitions(self) -> int:
        """Returns the number of partitions.

        Raises:
            TopicNotFound: There is no such topic.
        """
        return len(await self.end_offsets())

    async def describe(self) -> TopicDescription:
        """Returns a description of its partitions and their brokers.

        Raises:
            TopicNotFound: There is no such topic.
        """
        return await self._client.admin.topic(self.name)

    def partition(self, number: int) -> Partition:
        """Returns the partition of this number, without contacting a broker."""
        return Partition(self._client, self.name, number)

    async def begin_offsets(self) -> dict[int, int | None]:
        """Returns the first offset of each partition."""
        return await self._client.admin.begin_offsets(self.name)

    async def end_offsets(self) -> dict[int, int | None]:
        """Returns the offset after the last record of each partition."""
        return await self._client.admin.end_offsets(self.name)

    async def offsets_at(self, time: datetime | timedelta) -> dict[int, int | None]:
        """Returns for each partition the first offset at or after a time, None if there is none."""
        return await self._client.admin.offsets_at(self.name, time)

    @overload
    def read(
        self,
        start: Place | None = None,
        stop: Place | None = None,
        *,
        limit: int | None = None,
        key: Decoder[Any] | None = None,
        value: None = None,
    ) -> AsyncIterator[Message]: ...
    @overload
    def read(
        self,
        start: Place | None = None,
        stop: Place | None = None,
        *,
        limit: int | None = None,
        key: Decoder[Any] | None = None,
        value: Decoder[_T],
    ) -> AsyncIterator[Message[_T | None]]: ...
    def read(
        self,
        start: Place | None = None,
        stop: Place | None = None,
        *,
        limit: int | None = None,
        key: Decoder[Any] | None = None,
        value: Decoder[Any] | None = None,
    ) -> AsyncIterator[Message[Any]]:
        """Iterates over the existing messages; partitions are interleaved as they are fetched.

        Args:
            start: The first position in each partition: an offset, an aware datetime, or a
                timedelta from now; the first message if omitted. A negative number reads that
                many of the last messages over all partitions, in the order of their timestamps.
            stop: The end, excluded, in the same form; the current end if omitted.
            limit: The maximal number of messages.
            key: Decodes the keys, as for ``Client.consumer``.
            value: Decodes the values; tombstones stay None.

        Raises:
            DecodeError: A key or a value cannot be decoded; the next call returns the next message.
            TopicNotFound: There is no such topic.
            ConfigError: The time has no time zone.
        """
        return limited(self._read(start, stop, (key, value)), limit)

    @overload
    def reversed(
        self,
        start: Place | None = None,
        stop: Place | None = None,
        *,
        limit: int | None = None,
        key: Decoder[Any] | None = None,
        value: None = None,
    ) -> AsyncIterator[Message]: ...
    @overload
    def reversed(
        self,
        start: Place | None = None,
        stop: Place | None = None,
        *,
        limit: int | None = None,
        key: Decoder[Any] | None = None,
        value: Decoder[_T],
    ) -> AsyncIterator[Message[_T | None]]: ...
    def reversed(
        self,
        start: Place | None = None,
        stop: Place | None = None,
        *,
        limit: int | None = None,
        key: Decoder[Any] | None = None,
        value: Decoder[Any] | None = None,
    ) -> AsyncIterator[Message[Any]]:
        """Iterates over the messages of all partitions, the newest first.

        Raises:
            TopicNotFound: There is no such topic.
        """
        return limited(self._reversed(start, stop, (key, value)), limit)

    async def replay(
        self,
        since: Place,
        until: Place | None = None,
        *,
        where: Callable[[Message], object] | None = None,
    ) -> AsyncIterator[Message]:
        """Iterates over a time range again, for messages that have to be processed again.

        Committed offsets of groups do not change.

        Args:
            since: The start of the range: a time, a timedelta from now, or an offset.
            until: The end of the range, excluded; the current end if omitted.
            where: A predicate that selects messages; all if omitted.

        Raises:
            TopicNotFound: There is no such topic.
        """
        async for message in self.read(since, until):
            if where is None or where(message):
                yield message

    def __aiter__(self) -> AsyncIterator[Message]:
        """Iterates over all messages up to the current end."""
        return self.read()

    def __repr__(self) -> str:
        """The class and the name."""
        return f"Topic({self.name!r})"

    async def _read(
        self, start: Place | None, stop: Place | None, decoders: Decoders
    ) -> AsyncIterator[Message[Any]]:
        if isinstance(start, int) and start < 0:
            check_place(start)
            backwards = limited(self._reversed(None, stop, decoders), -start)
            newest = [message async for message in backwards]
            for message in reversed(newest):
                yield message
            return
        spans = await self._spans(start, stop)
        async for message in self._client._range(self.name, spans, decoders):
            yield message

    async def _reversed(
        self, start: Place | None, stop: Place | None, decoders: Decoders
    ) -> AsyncIterator[Message[Any]]:
        spans = await self._spans(start, stop)
        logs = [newest_first(self._client, self.name, span, decoders) for span in spans]
        async for message in newest_of_all(logs):
            yield message

    async def _spans(self, start: Place | None, stop: Place | None) -> _Spans:
        begins, ends = _known(await self.begin_offsets()), _known(await self.end_offsets())
        starts = begins if start is None else await self._places("start", start, ends)
        stops = ends if stop is None else await self._places("stop", stop, ends)
        return [
            (number, max(starts[number], begins.get(number, 0)), min(stops[number], end))
            for number, end in ends.items()
        ]

    async def _places(self, name: str, place: Place, ends: dict[int, int]) -> dict[int, int]:
        check_place(place)
        if isinstance(place, datetime | timedelta):
            return ends | _known(await self.offsets_at(place))
        if place < 0:
            message = f"{name}: {place} does not fit: it counts from the end of one partition"
            raise ConfigError(f"{message}, see partition()")
        return dict.fromkeys(ends, place)


def _known(offsets: dict[int, int | None]) -> dict[int, int]:
    return {number: offset for number, offset in offsets.items() if offset is not None}
