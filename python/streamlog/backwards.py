"""Reading a partition from its end to its beginning.

Offsets may have gaps, after compaction and in topics that count bytes, so that nobody can say where
the record before one begins. It is found by reading forwards from a guess that lies far enough
back, and from one twice as far if nothing was there.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from streamlog._core import Client
from streamlog._core.bounded import Range
from streamlog._core.reading import Message
from streamlog.counts import checked

__all__ = ["FIRST_GUESS", "by_time", "newest_first", "next_guess", "rewound"]

FIRST_GUESS = 64
"""Offsets that are read at first."""
LARGEST_GUESS = 8192
"""Offsets that are read at once where they have no gaps."""


def newest_first(
    client: Client, topic: str, partition: int, begin: int, end: int
) -> Iterator[Message[Any]]:
    """The messages from `begin` to before `end`, the newest first."""
    guess = FIRST_GUESS
    while begin < end:
        start = max(begin, end - guess)
        messages = list(Range(client, topic, [(partition, start, end)]))
        yield from reversed(messages)
        end = start
        guess = next_guess(guess, len(messages))


def next_guess(guess: int, found: int) -> int:
    """How many offsets to read next, after so many of them held this number of messages."""
    # Where offsets have gaps, what lies far back holds no more messages than what lies near.
    is_sparse = found < guess // 2
    return guess * 2 if is_sparse else min(guess * 2, LARGEST_GUESS)


def by_time(message: Message[Any]) -> tuple[int, int, int]:
    """What messages of several partitions are ordered by."""
    return (message.timestamp_ms, message.partition, message.offset)


def rewound(
    client: Client, positions: Mapping[tuple[str, int], int | None], messages: int
) -> dict[tuple[str, int], int]:
    """For each partition, the offset of the message that lies so many before the position."""
    count = checked("messages", messages)
    begins: dict[str, Mapping[int, int | None]] = {}
    places = {}
    for (topic, partition), position in positions.items():
        if position is None:
            continue
        if topic not in begins:
            begins[topic] = client.admin.begin_offsets(topic)
        begin = begins[topic].get(partition) or 0
        passed = islice(newest_first(client, topic, partition, begin, position), count)
        offset = min((message.offset for message in passed), default=position)
        places[topic, partition] = offset
    return places
