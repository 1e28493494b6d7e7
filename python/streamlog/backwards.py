"""Iteration over a partition from its end to its beginning.

Offsets may have gaps, after compaction and in topics that count bytes, so the offset of the
previous record is unknown. It is found by reading forwards from a guess some offsets before the
end, and from twice as many offsets if few messages were found. The memory is bounded: if a range
has too many messages, half of the range is read instead.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeAlias

from streamlog._core import Client
from streamlog._core.bounded import open_range
from streamlog._core.reading import Message
from streamlog.arguments.counts import checked

__all__ = ["FIRST_GUESS", "Chunk", "Decoders", "Span", "by_time", "newest_first", "rewound"]

_Decoder: TypeAlias = Callable[[bytes], Any]

Decoders: TypeAlias = tuple[_Decoder | None, _Decoder | None]
"""The decoders of keys and of values."""

Span: TypeAlias = tuple[int, int, int]
"""A partition, the first offset, and the end offset."""

FIRST_GUESS = 64
"""The number of offsets in the first guess."""
MOST_MESSAGES = 8192
"""The limit of messages in memory."""
MOST_BYTES = 8 << 20
"""The limit of bytes of keys and values in memory, exceeded only by a single large message."""


class Chunk:
    """The messages of a range of offsets, unless they exceed the memory limits."""

    def __init__(self) -> None:
        """Starts an empty chunk."""
        self.messages: list[Message[Any]] = []
        self._bytes = 0
        self._is_whole = True

    def take(self, message: Message[Any]) -> bool:
        """Adds a message; returns false if that exceeds the limits and makes the chunk useless."""
        self._bytes += len(message.raw_key or b"") + len(message.raw_value or b"")
        is_single = not self.messages
        is_full = len(self.messages) == MOST_MESSAGES or self._bytes > MOST_BYTES
        self._is_whole = is_single or not is_full
        if self._is_whole:
            self.messages.append(message)
        return self._is_whole

    def next_guess(self, guess: int) -> int:
        """Returns the number of offsets to read next, after `guess` offsets had these messages."""
        if not self._is_whole:
            return guess // 2
        # Earlier offsets may have as many messages: double the guess only if twice the size fits.
        has_room = 2 * len(self.messages) <= MOST_MESSAGES and 2 * self._bytes <= MOST_BYTES
        return guess * 2 if has_room else guess


def newest_first(
    client: Client, topic: str, span: Span, decoders: Decoders | None = None
) -> Iterator[Message[Any]]:
    """Iterates over the messages of `span`, the newest first."""
    partition, begin, end = span
    guess = FIRST_GUESS
    while begin < end:
        guess = min(guess, end - begin)
        chunk = Chunk()
        part = [(partition, end - guess, end)]
        if all(map(chunk.take, open_range(client, topic, part, decoders=decoders))):
            yield from reversed(chunk.messages)
            end -= guess
        guess = chunk.next_guess(guess)


def by_time(message: Message[Any]) -> tuple[int, int, int]:
    """Returns the sort key for messages of several partitions."""
    return (message.timestamp_ms, message.partition, message.offset)


def rewound(
    client: Client, positions: Mapping[tuple[str, int], int | None], messages: int
) -> dict[tuple[str, int], int]:
    """Returns for each partition the offset that is `messages` messages before its position."""
    count = checked("messages", messages)
    begins: dict[str, Mapping[int, int | None]] = {}
    places = {}
    for (topic, partition), position in positions.items():
        if position is None:
            continue
        if topic not in begins:
            begins[topic] = client.admin.begin_offsets(topic)
        begin = begins[topic].get(partition) or 0
        passed = islice(newest_first(client, topic, (partition, begin, position)), count)
        offset = min((message.offset for message in passed), default=position)
        places[topic, partition] = offset
    return places
