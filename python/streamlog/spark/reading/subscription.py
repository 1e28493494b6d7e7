"""The topics of a read: names, a pattern, or lists of partitions."""

import re
from dataclasses import dataclass

from streamlog.errors import ConfigError
from streamlog.spark.options import Options, misfit
from streamlog.spark.reading.offsets import TopicPartition, listed

__all__ = ["NAMES", "Subscription"]

NAMES = ("subscribe", "subscribePattern", "assign")
"""The options of which exactly one is required."""


_OF_THE_SINK = "__streamlog_"
"""The prefix of topics that a query uses internally when it writes exactly once."""


@dataclass(frozen=True)
class Subscription:
    """The selected topics; exactly one of the three attributes is set."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    places: tuple[TopicPartition, ...] = ()

    @classmethod
    def of(cls, options: Options) -> "Subscription":
        """Parses the options.

        Raises:
            ConfigError: Not exactly one of them is given, or it is invalid.

        Example:
            >>> from streamlog.spark.reading.subscription import Subscription
            >>> from streamlog.spark.options import Options
            >>> names = ["subscribe", "subscribePattern", "assign"]
            >>> Subscription.of(Options({"subscribe": "orders, refunds"}, names)).topics
            ('orders', 'refunds')
        """
        given = options.given(*NAMES)
        if len(given) != 1:
            found = "none" if not given else " and ".join(f"'{name}'" for name in given)
            expected = "expected exactly one of 'subscribe', 'subscribePattern' and 'assign'"
            raise ConfigError(f"topics: {expected}, found {found}")
        text = options.text(given[0]) or ""
        if given[0] == "assign":
            return cls(places=tuple(sorted(set(listed("assign", text)))))
        if given[0] == "subscribePattern":
            return cls(pattern=_checked(text))
        topics = [name.strip() for name in text.split(",") if name.strip()]
        if not topics:
            raise misfit("subscribe", text, "names of topics with commas between them")
        return cls(topics=tuple(dict.fromkeys(topics)))

    def named(self) -> tuple[str, ...] | None:
        """Returns the topics if they are named; None if they have to be matched."""
        if self.pattern is not None:
            return None
        return self.topics or tuple(dict.fromkeys(topic for topic, _ in self.places))

    def matches(self, topic: str) -> bool:
        """Returns true if the pattern matches the whole name, and the topic is not of the sink."""
        if self.pattern is None or topic.startswith(_OF_THE_SINK):
            return False
        return re.fullmatch(self.pattern, topic) is not None

    def selects(self, place: TopicPartition) -> bool:
        """Returns true if this partition is read where its topic exists."""
        named = self.named()
        is_read = self.matches(place[0]) if named is None else place[0] in named
        return is_read and self.has(place)

    def has(self, place: TopicPartition) -> bool:
        """Returns true if this partition of a selected topic is read."""
        return not self.places or place in self.places


def _checked(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise misfit("subscribePattern", pattern, f"a regular expression: {error}") from None
    return pattern
