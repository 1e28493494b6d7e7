"""Planning: from the positions of the previous plan to the current ends of the logs."""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from streamlog._core import Client
from streamlog.errors import ConfigError, OffsetOutOfRange, TopicNotFound
from streamlog.spark.offline.plan import Loss, Plan, Range, TopicPositions
from streamlog.spark.reading.subscription import Subscription

__all__ = ["Choice", "lost", "make_plan"]

_log = logging.getLogger("streamlog.spark")


@dataclass(frozen=True, slots=True)
class Choice:
    """The selected topics: by their names, or by a pattern."""

    names: tuple[str, ...] = ()
    pattern: str | None = None

    @classmethod
    def of(cls, subscribe: str | Sequence[str] | None, pattern: str | None) -> "Choice":
        """Validates the options ``subscribe`` and ``subscribe_pattern``.

        Raises:
            ConfigError: Not exactly one of them was given, or it selects nothing.
        """
        if (subscribe is None) == (pattern is None):
            given = "neither" if subscribe is None else "both"
            message = f"subscribe, subscribe_pattern: {given} given: expected exactly one"
            raise ConfigError(message)
        if pattern is not None:
            try:
                re.compile(pattern)
            except re.error as error:
                message = f"subscribe_pattern: '{pattern}' is no pattern: {error}"
                raise ConfigError(message) from error
            return cls(pattern=pattern)
        words = subscribe.split(",") if isinstance(subscribe, str) else subscribe or ()
        names = tuple(dict.fromkeys(word.strip() for word in words if word.strip()))
        if not names:
            raise ConfigError("subscribe: there is no topic in it")
        return cls(names)

    def topics(self, client: Client, planned: Mapping[str, TopicPositions]) -> list[str]:
        """Returns the topics to load: the named ones, or existing and loaded ones that match."""
        if self.pattern is None:
            return list(self.names)
        # The same topics as a stream with this pattern: never the internal topics of a query.
        wanted = Subscription(pattern=self.pattern)
        return sorted(filter(wanted.matches, {*client.admin.topics(), *planned}))


@dataclass(slots=True)
class _Making:
    """A plan under construction."""

    fails: bool
    """True if a loss is an error."""
    places: dict[str, TopicPositions]
    ranges: list[Range] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)

    def add(self, topic: str, partition: int, wanted: int, bounds: tuple[int, int]) -> None:
        """Adds the new offsets of a partition whose log has these bounds."""
        begin, end = bounds
        start = wanted
        if wanted < begin:
            self.lose(Loss(topic, partition, wanted, begin, "earlier records were deleted"))
            start = begin
        elif wanted > end:
            # Files of the truncated records stay, and loading continues at the end of the log.
            reason = f"the log was truncated and ends at {end}"
            self.lose(Loss(topic, partition, wanted, begin, reason))
            start = end
        if start < end:
            self.ranges.append(Range(topic, partition, start, end))
        self.places[topic].next[partition] = end

    def lose(self, loss: Loss) -> None:
        """Raises an error, or notes the loss."""
        if self.fails:
            raise lost(loss)
        _log.warning("%s", loss)
        self.losses.append(loss)


def make_plan(client: Client, choice: Choice, newest: Plan | None, fail_on_data_loss: bool) -> Plan:
    """Returns the plan after the newest one; it has no ranges if there are no new records.

    Raises:
        TopicNotFound: A topic does not exist, or not any more.
        OffsetOutOfRange: Records were deleted before they were loaded, and losses are fatal.
    """
    before = {} if newest is None else newest.places
    making = _Making(
        fail_on_data_loss,
        {topic: TopicPositions(old.id, dict(old.next)) for topic, old in before.items()},
    )
    for topic in choice.topics(client, before):
        _add_topic(making, client, topic, choice)
    number = 1 if newest is None else newest.number + 1
    return Plan(number, making.ranges, making.places, making.losses)


def _add_topic(making: _Making, client: Client, topic: str, choice: Choice) -> None:
    old = making.places.get(topic)
    try:
        topic_id = client.admin.topic(topic).id
        begins, ends = client.admin.begin_offsets(topic), client.admin.end_offsets(topic)
        if not ends:
            raise TopicNotFound(f"topic '{topic}' has no partitions", topic)
    except TopicNotFound as error:
        if old is None or making.fails:
            message = f"subscribe: there is no topic '{topic}'"
            if old is not None:
                message = f"subscribe: topic '{topic}' was deleted before {_next(old)}; {_REMEDY}"
            raise TopicNotFound(message, topic) from error
        _log.warning("topic '%s' was deleted before %s", topic, _next(old))
        return
    if old is not None and old.id != topic_id:
        for partition, wanted in old.next.items():
            reason = "the topic was deleted and recreated"
            making.lose(Loss(topic, partition, wanted, begins.get(partition) or 0, reason))
        old = None
    if old is None:
        making.places[topic] = TopicPositions(topic_id)
    for partition in sorted(ends):
        begin, end = begins.get(partition), ends[partition]
        if begin is None or end is None:
            raise TopicNotFound(f"partition {partition} of '{topic}' does not tell its offsets")
        # The first load begins at the log start; a partition added later is loaded from offset 0.
        wanted = begin if old is None else old.next.get(partition, 0)
        making.add(topic, partition, wanted, (begin, end))


def lost(loss: Loss) -> OffsetOutOfRange:
    """Returns the error for lost records."""
    return OffsetOutOfRange(f"{loss}. {_REMEDY}", loss.wanted, loss.earliest)


_REMEDY = "fail_on_data_loss=False (--no-fail-on-data-loss) loads the existing records"


def _next(places: TopicPositions) -> str:
    offsets = places.next.items()
    nexts = ", ".join(f"offset {offset} of partition {part}" for part, offset in offsets)
    return f"{nexts} could be loaded"
