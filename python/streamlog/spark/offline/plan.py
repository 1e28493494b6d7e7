"""What one load does, decided and on disk before its first file appears.

A plan is a list of ranges of offsets. The file that a record goes into is named by the number of
the plan, the range, and the date of the record: whoever carries out a range, and however often,
makes the same names, and a name that is there already is left as it is. So no record can come to
stand in two files, and no range is ever planned twice: a plan begins where the one before it ended.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Self

__all__ = ["Loss", "Plan", "Range", "TopicPlaces"]


@dataclass(frozen=True, slots=True)
class Range:
    """Offsets of one partition, from `start` to before `stop`."""

    topic: str
    partition: int
    start: int
    stop: int

    def split(self, most: int) -> "Iterator[Range]":
        """The same offsets as ranges of at most so many."""
        for start in range(self.start, self.stop, most):
            yield Range(self.topic, self.partition, start, min(start + most, self.stop))


@dataclass(frozen=True, slots=True)
class Loss:
    """Records that were deleted before they were loaded."""

    topic: str
    partition: int
    wanted: int
    """The offset to load next."""
    earliest: int
    """The first offset that the log has; below 0, there is no log any more."""
    reason: str
    """What became of the records."""

    def __str__(self) -> str:
        """What, where, and what there is instead."""
        place = f"topic '{self.topic}' partition {self.partition}"
        left = f"the earliest is {self.earliest}" if self.earliest >= 0 else "there is none"
        return f"{place}: wanted offset {self.wanted}, {left}: {self.reason}"


@dataclass(slots=True)
class TopicPlaces:
    """How far a topic is planned: the first offset that no plan has, of each partition."""

    id: str
    """Which topic of this name it is: one that is deleted and made anew has another."""
    next: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """A numbered list of ranges, and where the plan after it begins."""

    number: int
    ranges: list[Range]
    places: dict[str, TopicPlaces]
    """Of all topics that this or an earlier plan has ranges of."""
    losses: list[Loss]
    """What was gone already when it was made."""

    def file_name(self, index: int) -> str:
        """The name of the files of a range, one in the folder of each date."""
        part = self.ranges[index]
        return f"load-{self.number:06}-{part.partition}-{part.start:020}-{part.stop:020}.parquet"

    def offsets(self, index: int | None = None) -> int:
        """How many offsets a range has, or all ranges together."""
        parts = self.ranges if index is None else [self.ranges[index]]
        return sum(part.stop - part.start for part in parts)

    def to_json(self) -> str:
        """The text that is kept."""
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """What such a text says."""
        kept: dict[str, Any] = json.loads(text)
        return cls(
            kept["number"],
            [Range(**part) for part in kept["ranges"]],
            {
                topic: TopicPlaces(
                    places["id"], {int(key): value for key, value in places["next"].items()}
                )
                for topic, places in kept["places"].items()
            },
            [Loss(**loss) for loss in kept["losses"]],
        )
