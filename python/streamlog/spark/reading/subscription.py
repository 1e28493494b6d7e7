"""Which topics are read: named, matched, or with the numbers of their partitions."""

import re
from dataclasses import dataclass

from streamlog.errors import ConfigError
from streamlog.spark.options import Options, misfit
from streamlog.spark.reading.offsets import Place, listed

__all__ = ["NAMES", "Subscription"]

NAMES = ("subscribe", "subscribePattern", "assign")
"""The options of which a read has exactly one."""


_OF_THE_SINK = "__streamlog_"
"""How the names of topics begin that a query keeps for itself when it writes exactly once."""


@dataclass(frozen=True)
class Subscription:
    """What is read; exactly one of the three says it."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    places: tuple[Place, ...] = ()

    @classmethod
    def of(cls, options: Options) -> "Subscription":
        """What the options say.

        Raises:
            ConfigError: None of them is given, or several, or it does not fit.

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
        """The topics, if they are named: None when they have to be matched."""
        if self.pattern is not None:
            return None
        return self.topics or tuple(dict.fromkeys(topic for topic, _ in self.places))

    def matches(self, topic: str) -> bool:
        """Whether the pattern matches all of a topic's name; those of the sink are never meant."""
        if self.pattern is None or topic.startswith(_OF_THE_SINK):
            return False
        return re.fullmatch(self.pattern, topic) is not None

    def has(self, place: Place) -> bool:
        """Whether a partition of a topic that is read is read."""
        return not self.places or place in self.places


def _checked(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise misfit("subscribePattern", pattern, f"a regular expression: {error}") from None
    return pattern
