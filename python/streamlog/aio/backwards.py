"""Iteration over a partition from its end to its beginning, like ``streamlog.backwards``."""

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from streamlog._core.reading import Message
from streamlog.aio.messages import limited
from streamlog.arguments.counts import checked
from streamlog.backwards import FIRST_GUESS, Chunk, Decoders, by_time

if TYPE_CHECKING:
    from streamlog.aio.client import Client

__all__ = ["newest_first", "newest_of_all", "rewound"]


async def newest_first(
    client: "Client",
    topic: str,
    span: tuple[int, int, int],
    decoders: Decoders | None = None,
) -> AsyncIterator[Message[Any]]:
    """Iterates over the messages of `span`, a partition and two offsets, the newest first."""
    partition, begin, end = span
    guess = FIRST_GUESS
    while begin < end:
        guess = min(guess, end - begin)
        chunk = Chunk()
        async for message in client._range(topic, [(partition, end - guess, end)], decoders):
            if not chunk.take(message):
                break
        else:
            for message in reversed(chunk.messages):
                yield message
            end -= guess
        guess = chunk.next_guess(guess)


async def newest_of_all(
    logs: list[AsyncIterator[Message[Any]]],
) -> AsyncIterator[Message[Any]]:
    """Merges iterators over several logs, each newest first, by time."""
    heads: list[tuple[Message[Any], AsyncIterator[Message[Any]]]] = []
    waiting = logs
    while True:
        for log in waiting:
            async for message in log:
                heads.append((message, log))
                break
        if not heads:
            return
        place = max(range(len(heads)), key=lambda number: by_time(heads[number][0]))
        newest, log = heads.pop(place)
        yield newest
        waiting = [log]


async def rewound(
    client: "Client", positions: Mapping[tuple[str, int], int | None], messages: int
) -> dict[tuple[str, int], int]:
    """Returns for each partition the offset that is `messages` messages before its position."""
    count = checked("messages", messages)
    begins: dict[str, Mapping[int, int | None]] = {}
    places = {}
    for (topic, partition), position in positions.items():
        if position is None:
            continue
        if topic not in begins:
            begins[topic] = await client.admin.begin_offsets(topic)
        begin = begins[topic].get(partition) or 0
        passed = limited(newest_first(client, topic, (partition, begin, position)), count)
        offsets = [message.offset async for message in passed]
        places[topic, partition] = min(offsets, default=position)
    return places
