"""Reading a partition from its end to its beginning.

Offsets may have gaps, after compaction and in topics that count bytes, so that nobody can say where
the record before one begins. It is found by reading forwards from a guess that lies far enough
back, and from one twice as far if little was there. How much is held at once is bounded, however
the messages lie: where they turn out to be too many, they are read from half as far.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeAlias

from streamlog._core import Client
from streamlog._core.bounded import Range
from streamlog._core.reading import Message
from streamlog.counts import checked

__all__ = ["FIRST_GUESS", "Decoders", "Stretch", "by_time", "newest_first", "rewound"]

_Decoder: TypeAlias = Callable[[bytes], Any]

Decoders: TypeAlias = tuple[_Decoder | None, _Decoder | None]
"""The decoders of keys and of values."""

FIRST_GUESS = 64
"""Offsets that are read at first."""
MOST_MESSAGES = 8192
"""Messages that are held at once."""
MOST_BYTES = 8 << 20
"""Bytes of keys and values that are held at once, unless a single message has more."""


class Stretch:
    """The messages between two offsets, as long as they are not too many to be held at once."""

    def __init__(self) -> None:
        """Nothing was read of it yet."""
        self.messages: list[Message[Any]] = []
        self._bytes = 0
        self._is_whole = True

    def take(self, message: Message[Any]) -> bool:
        """Holds one more; false if that would be too many, and then the stretch is of no use."""
        self._bytes += len(message.raw_key or b"") + len(message.raw_value or b"")
        is_single = not self.messages
        is_full = len(self.messages) == MOST_MESSAGES or self._bytes > MOST_BYTES
        self._is_whole = is_single or not is_full
        if self._is_whole:
            self.messages.append(message)
        return self._is_whole

    def next_guess(self, guess: int) -> int:
        """How many offsets to read next, after this was found in so many."""
        if not self._is_whole:
            return guess // 2
        # What lies further back may hold as much for each offset.
        has_room = 2 * len(self.messages) <= MOST_MESSAGES and 2 * self._bytes <= MOST_BYTES
        return guess * 2 if has_room else guess


def newest_first(
    client: Client, topic: str, span: tuple[int, int, int], decoders: Decoders | None = None
) -> Iterator[Message[Any]]:
    """The messages of a partition from an offset to before another, the newest first."""
    partition, begin, end = span
    guess = FIRST_GUESS
    while begin < end:
        guess = min(guess, end - begin)
        stretch = Stretch()
        part = [(partition, end - guess, end)]
        if all(map(stretch.take, Range(client, topic, part, decoders=decoders))):
            yield from reversed(stretch.messages)
            end -= guess
        guess = stretch.next_guess(guess)


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
        passed = islice(newest_first(client, topic, (partition, begin, position)), count)
        offset = min((message.offset for message in passed), default=position)
        places[topic, partition] = offset
    return places
