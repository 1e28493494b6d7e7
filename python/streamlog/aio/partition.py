"""A partition of a topic, read by offset in either direction."""

from collections.abc import AsyncIterator, Coroutine
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from streamlog._core.reading import Message
from streamlog.aio.backwards import newest_first
from streamlog.aio.messages import Readable, limited
from streamlog.backwards import Decoders, Span
from streamlog.partition import offset_of, sliced
from streamlog.readable import Place, checked_place

if TYPE_CHECKING:
    from streamlog.aio.client import Client

__all__ = ["Partition"]


class Partition(Readable):
    """A partition of a topic.

    Example:
        >>> orders = client.topic("orders").partition(0)
        >>> [message.offset async for message in orders[1:3]]
        [1, 2]
        >>> [message.offset async for message in orders[-2:]]
        [1, 2]
        >>> (await orders[1]).value
        b'{"id": 1}'
    """

    topic: str
    """The name of its topic."""
    number: int
    """Its number."""

    def __init__(self, client: "Client", topic: str, number: int) -> None:
        """Created by ``Client.topic(...).partition(...)``; does not contact a broker."""
        self.topic = topic
        self.number = number
        self._client = client

    async def begin_offset(self) -> int:
        """The first offset that can be read.

        Raises:
            TopicNotFound: There is no such partition.
        """
        return offset_of(
            await self._client.admin.begin_offsets(self.topic), self.topic, self.number
        )

    async def end_offset(self) -> int:
        """The offset after the last message.

        Raises:
            TopicNotFound: There is no such partition.
        """
        return offset_of(await self._client.admin.end_offsets(self.topic), self.topic, self.number)

    @overload
    def __getitem__(self, wanted: SupportsIndex) -> Coroutine[Any, Any, Message]: ...
    @overload
    def __getitem__(self, wanted: slice) -> AsyncIterator[Message]: ...
    def __getitem__(self, wanted: Any) -> Any:
        """Returns the message at an offset, to be awaited, or an iterator over a slice.

        Raises:
            IndexError: No message has this offset.
            ConfigError: The slice has another form than ``[START:STOP]`` or ``[::-1]``.
        """
        if not isinstance(wanted, slice):
            return self._at(int(wanted))
        return sliced(wanted, self.read, self.reversed)

    def __repr__(self) -> str:
        """The calls that create it."""
        return f"Topic({self.topic!r}).partition({self.number})"

    async def _read(
        self, start: Place | None, stop: Place | None, decoders: Decoders
    ) -> AsyncIterator[Message[Any]]:
        span = await self._span(start, stop)
        async for message in self._client._range(self.topic, [span], decoders):
            yield message

    async def _reversed(
        self, start: Place | None, stop: Place | None, decoders: Decoders
    ) -> AsyncIterator[Message[Any]]:
        span = await self._span(start, stop)
        async for message in newest_first(self._client, self.topic, span, decoders):
            yield message

    async def _at(self, offset: int) -> Message:
        found = self.read(offset, limit=1) if offset < 0 else self.read(offset, offset + 1)
        async for message in found:
            return message
        raise IndexError(f"no message has offset {offset} in {self.topic}-{self.number}")

    async def _span(self, start: Place | None, stop: Place | None) -> Span:
        begin, end = await self.begin_offset(), await self.end_offset()
        first = begin if start is None else await self._offset(start, begin, end)
        last = end if stop is None else await self._offset(stop, begin, end)
        return (self.number, max(first, begin), min(last, end))

    async def _offset(self, place: Place, begin: int, end: int) -> int:
        position = checked_place(place)
        if isinstance(position, datetime | timedelta):
            found = await self._client.admin.offsets_at(self.topic, position)
            offset = found.get(self.number)
            return end if offset is None else offset
        if position >= 0:
            return position
        newest = newest_first(self._client, self.topic, (self.number, begin, end))
        offsets = [message.offset async for message in limited(newest, -position)]
        return min(offsets, default=end)
