"""The start and end offsets of the logs of a read."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import TypeVar

import streamlog
from streamlog.errors import TopicNotFound
from streamlog.spark.clients import client_of
from streamlog.spark.options import Connection
from streamlog.spark.patience import Patience, briefly, patiently
from streamlog.spark.reading.offsets import Offsets, TopicPartition
from streamlog.spark.reading.subscription import Subscription

__all__ = ["Logs", "State", "time_of"]

_T = TypeVar("_T")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass
class State:
    """A snapshot of topics and their ends."""

    ends: Offsets = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    """The ids of the topics: a recreated topic has another id."""
    missing: set[str] = field(default_factory=set)
    """Topics that were named and do not exist."""


class Logs:
    """Requests offsets of the partitions to read.

    Waits for unreachable brokers, and for topics that are absent from metadata for a moment.
    """

    def __init__(self, connection: Connection, subscription: Subscription) -> None:
        """Does not contact a broker yet."""
        self._connection = connection
        self._subscription = subscription

    @property
    def client(self) -> streamlog.Client:
        """The client for the requests."""
        return client_of(self._connection)

    def state(self) -> State:
        """Returns the existing topics and their ends."""
        state = State()
        for topic in self._topics():
            try:
                state.ids[topic] = self._topic_id(topic)
                state.ends |= self._read_of(topic, self._ends_of(topic))
            except TopicNotFound:
                state.ids.pop(topic, None)
                state.missing.add(topic)
        there = {place for place in state.ends if place[0] in state.ids}
        gone = {place[0] for place in self._subscription.places if place not in there}
        state.missing |= gone
        return state

    def ends(self) -> State:
        """Returns the same as ``settled``, and requires all named topics to exist.

        Raises:
            TopicNotFound: A named topic or partition does not exist.
        """
        state = self.settled()
        self.require(state)
        return state

    def settled(self) -> State:
        """Returns the state after a brief wait for topics that are named and absent.

        Waits also if no topic matches.
        """
        patience = briefly(self._connection)
        state = self.state()
        while state.missing or not state.ids:
            absent = ", ".join(f"'{topic}'" for topic in sorted(state.missing))
            if not patience.outlasts(
                f"topics {absent} are absent" if absent else "no topic matches"
            ):
                break
            state = self.state()
        return state

    def require(self, state: State, besides: Collection[str] = ()) -> None:
        """Checks that a state has all named topics, `besides` some.

        Raises:
            TopicNotFound: A named topic or partition does not exist.
        """
        missing = state.missing.difference(besides)
        if missing and self._subscription.named() is not None:
            raise TopicNotFound(self._why_missing(min(missing), state))

    def present(
        self, absent: Callable[[State], set[TopicPartition]], look: Callable[[], State]
    ) -> State:
        """Returns the state once nothing is absent, or when something stays absent for long.

        Args:
            absent: Returns the partitions that have existed, and that a state lacks.
            look: Requests the state.
        """
        patience = Patience(self._connection)
        state = look()
        while places := absent(state):
            topic, number = min(places)
            if not patience.outlasts(f"partition {number} of topic '{topic}' is absent"):
                break
            state = look()
        return state

    def _why_missing(self, topic: str, state: State) -> str:
        if topic in state.ids:
            places = {place for place in self._subscription.places if place[0] == topic}
            count = len(self._patiently(lambda: self.client.admin.topic(topic)).partitions)
            number = min(places - state.ends.keys())[1]
            return f"topic '{topic}' has no partition {number}: there are {count}, from 0 on"
        nearest = get_close_matches(topic, self._patiently(lambda: self.client.admin.topics()), n=1)
        hint = f", did you mean '{nearest[0]}'?" if nearest else ""
        return f"there is no topic '{topic}'{hint}"

    def are_others_matched(self, state: State) -> bool:
        """Returns true if other topics match now than in the state; makes at most one request."""
        return self._subscription.named() is None and set(self._topics()) != state.ids.keys()

    def begins(self, topics: Iterable[str]) -> Offsets:
        """Returns the first offsets of the partitions of existing topics.

        A topic that stays absent for long is left out.
        """
        found: Offsets = {}
        for topic in topics:
            try:
                found |= self._read_of(topic, self._of_existing(topic, self._begins_of))
            except TopicNotFound:
                continue
        return found

    def at(self, topic: str, time_ms: int) -> dict[TopicPartition, int | None]:
        """Returns the first offsets at or after a time; None for partitions without one."""
        if time_ms < 0:
            # In ListOffsets negative timestamps are special values, but records may have them.
            return {**self.begins([topic])}
        time = time_of(time_ms)
        found = self._of_existing(topic, lambda topic: self.client.admin.offsets_at(topic, time))
        return {
            (topic, number): offset
            for number, offset in found.items()
            if self._subscription.has((topic, number))
        }

    def committed(self, group: str) -> Offsets:
        """Returns the committed offsets of a group."""
        return self._patiently(lambda: self.client.admin.group(group).committed())

    def commit(self, group: str, offsets: Offsets) -> None:
        """Commits offsets for a group.

        Raises:
            StreamlogError: The commit failed; does not wait for unreachable brokers.
        """
        self.client.admin.group(group).commit(offsets)

    def _topics(self) -> list[str]:
        named = self._subscription.named()
        if named is not None:
            return list(named)
        found = self._patiently(lambda: self.client.admin.topics())
        return sorted(topic for topic in found if self._subscription.matches(topic))

    def _topic_id(self, topic: str) -> str:
        return self._patiently(lambda: self.client.admin.topic(topic).id)

    def _begins_of(self, topic: str) -> dict[int, int | None]:
        return _some(topic, self.client.admin.begin_offsets(topic))

    def _ends_of(self, topic: str) -> dict[int, int | None]:
        return _some(topic, self._patiently(lambda: self.client.admin.end_offsets(topic)))

    def _of_existing(self, topic: str, ask: Callable[[str], _T]) -> _T:
        """Asks for an existing topic, and waits while it is absent.

        Raises:
            TopicNotFound: It stays absent for long.
        """
        return Patience(self._connection).until_there(lambda: ask(topic))

    def _read_of(self, topic: str, offsets: dict[int, int | None]) -> Offsets:
        places = {(topic, number): offset or 0 for number, offset in offsets.items()}
        return {place: at for place, at in places.items() if self._subscription.has(place)}

    def _patiently(self, ask: Callable[[], _T]) -> _T:
        return patiently(self._connection, ask)


def _some(topic: str, offsets: dict[int, _T]) -> dict[int, _T]:
    """Returns the offsets of a topic, which has at least one partition.

    Raises:
        TopicNotFound: There are none: the metadata is incomplete.
    """
    if not offsets:
        raise TopicNotFound(f"topic '{topic}' has no partitions", topic)
    return offsets


def time_of(time_ms: int) -> datetime:
    """Returns the time of milliseconds since 1970."""
    return _EPOCH + timedelta(milliseconds=time_ms)
