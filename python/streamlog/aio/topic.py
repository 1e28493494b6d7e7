"""A topic: the offsets of its partitions, and reading without a consumer."""

from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from streamlog._core.reading import Message
from streamlog.aio.backwards import newest_first, newest_of_all
from streamlog.aio.messages import Readable, limited
from streamlog.aio.partition import Partition
from streamlog.backwards import Decoders, Span
from streamlog.descriptions import TopicDescription
from streamlog.readable import Place, checked_place
from streamlog.topic import clipped, known, same_offset

if TYPE_CHECKING:
    from streamlog.aio.client import Client

__all__ = ["Topic"]


class Topic(Readable):
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

    async def replay(
        self,
        since: Place,
        until: Place | None = None,
        *,
        where: Callable[[Message], object] | None = None,
    ) -> AsyncIterator[Message]:
        """Iterates over a time range again, like ``streamlog.Topic.replay``.

        Raises:
            TopicNotFound: There is no such topic.
        """
        async for message in self.read(since, until):
            if where is None or where(message):
                yield message

    def __repr__(self) -> str:
        """The class and the name."""
        return f"Topic({self.name!r})"

    async def _read(
        self, start: Place | None, stop: Place | None, decoders: Decoders
    ) -> AsyncIterator[Message[Any]]:
        if isinstance(start, int) and start < 0:
            checked_place(start)
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

    async def _spans(self, start: Place | None, stop: Place | None) -> list[Span]:
        begins, ends = known(await self.begin_offsets()), known(await self.end_offsets())
        starts = begins if start is None else await self._places("start", start, ends)
        stops = ends if stop is None else await self._places("stop", stop, ends)
        return clipped(starts, stops, begins, ends)

    async def _places(self, name: str, place: Place, ends: dict[int, int]) -> dict[int, int]:
        position = checked_place(place)
        if isinstance(position, datetime | timedelta):
            return ends | known(await self.offsets_at(position))
        return same_offset(name, position, ends)
