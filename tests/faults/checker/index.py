"""Look-ups that several checks need."""

from collections import defaultdict
from collections.abc import Iterator

from faults.history.operations import History, Outcome, Record, Send
from faults.history.payloads import key_of
from faults.topics import TopicKind

Place = tuple[int, int]
"""A partition and an offset."""


class Index:
    """A history by values and by places."""

    def __init__(self, history: History, topic: TopicKind = TopicKind.RECORD) -> None:
        """Reads the whole history of a topic of a kind."""
        self.history = history
        self.topic = topic
        self.sent: dict[int, tuple[Send, Record]] = {}
        self.values: dict[Place, set[int]] = defaultdict(set)
        """The values that acknowledgements and polls have shown at each place."""
        self.offsets: dict[int, set[Place]] = defaultdict(set)
        """The places of each value, by acknowledgements and polls."""
        self.polled: dict[int, set[Place]] = defaultdict(set)
        """The places where polls have shown each value."""
        self.final: dict[int, set[Place]] = defaultdict(set)
        """The places where the final polls have shown each value."""
        self.last_read: dict[int, int] = defaultdict(lambda: -1)
        """The highest offset of each partition that any poll returned."""
        self.newest: dict[tuple[int, bytes], tuple[int, int]] = {}
        """The highest offset of each key in each partition in the final polls, and its value.

        Only for compacted topics.
        """
        self._read_sends()
        self._read_polls()
        if topic is TopicKind.COMPACTED:
            self._read_keys()

    def acknowledged(self) -> Iterator[tuple[int, Place]]:
        """The acknowledged values and where they should be."""
        for value, (send, record) in self.sent.items():
            if record.outcome is Outcome.OK and record.offset is not None:
                yield value, (send.partition, record.offset)

    def may_repeat(self, value: int) -> bool:
        """Returns true if retries of the producer of a value may have written it again."""
        found = self.sent.get(value)
        return found is not None and found[0].process in self.history.repeating

    def is_superseded(self, value: int, place: Place) -> bool:
        """Returns true if compaction may have removed a value from a place.

        The final polls then have another value with the same key behind it, or the same one if
        retries may have written it again.
        """
        partition, offset = place
        newest, by = self.newest.get((partition, key_of(value)), (-1, value))
        return newest > offset and (by != value or self.may_repeat(value))

    def _read_sends(self) -> None:
        for send in self.history.sends:
            for record in send.records:
                self.sent[record.value] = (send, record)
                if record.outcome is Outcome.OK and record.offset is not None:
                    self._put(record.value, (send.partition, record.offset))

    def _read_polls(self) -> None:
        for poll in self.history.polls:
            for seen in poll.records:
                partition, offset = place = (seen.partition, seen.offset)
                self.last_read[partition] = max(self.last_read[partition], offset)
                if seen.value is None:
                    continue
                self._put(seen.value, place)
                self.polled[seen.value].add(place)
                if poll.final:
                    self.final[seen.value].add(place)

    def _read_keys(self) -> None:
        for value, places in self.final.items():
            for partition, offset in places:
                slot = (partition, key_of(value))
                self.newest[slot] = max(self.newest.get(slot, (-1, value)), (offset, value))

    def _put(self, value: int, place: Place) -> None:
        self.values[place].add(value)
        self.offsets[value].add(place)
