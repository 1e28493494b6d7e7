"""The plan of a load, decided and on disk before its first file appears.

A plan is a list of offset ranges. A file's path consists of the topic, the date of its records, the
number of the plan, and the range. So every execution of a range produces the same paths, and keeps
existing files: no record can be in two files. No range is planned twice: a plan begins where the
previous one ended.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Self

__all__ = ["Loss", "Plan", "Range", "TopicPositions"]


@dataclass(frozen=True, slots=True)
class Range:
    """Offsets of a partition, from `start` to `stop`, excluded."""

    topic: str
    partition: int
    start: int
    stop: int

    def split(self, most: int) -> "Iterator[Range]":
        """Splits the range into ranges of at most `most` offsets."""
        for start in range(self.start, self.stop, most):
            yield Range(self.topic, self.partition, start, min(start + most, self.stop))


@dataclass(frozen=True, slots=True)
class Loss:
    """Records that were deleted before they were loaded."""

    topic: str
    partition: int
    wanted: int
    """The next offset to load."""
    earliest: int
    """The first offset of the log; negative if the log does not exist any more."""
    reason: str
    """The cause of the loss."""

    def __str__(self) -> str:
        """The partition, the requested and the earliest offset, and the cause."""
        place = f"topic '{self.topic}' partition {self.partition}"
        left = f"the log begins at {self.earliest}" if self.earliest >= 0 else "the log is gone"
        return f"{place}: offset {self.wanted} was requested, {left}: {self.reason}"


@dataclass(slots=True)
class TopicPositions:
    """The planned part of a topic: the first unplanned offset of each partition."""

    id: str
    """The topic id, which changes if the topic is deleted and recreated."""
    next: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """A numbered list of ranges, and the start of the following plan."""

    number: int
    ranges: list[Range]
    places: dict[str, TopicPositions]
    """The positions in all topics with ranges in this or an earlier plan."""
    losses: list[Loss]
    """Records that were already lost when the plan was made."""

    def file_name(self, index: int) -> str:
        """Returns the name of the files of a range, one in the folder of each date."""
        part = self.ranges[index]
        return f"load-{self.number:06}-{part.partition}-{part.start:020}-{part.stop:020}.parquet"

    def offsets(self, index: int | None = None) -> int:
        """Returns the number of offsets of a range, or of all ranges."""
        parts = self.ranges if index is None else [self.ranges[index]]
        return sum(part.stop - part.start for part in parts)

    def to_json(self) -> str:
        """Returns the JSON text for storage."""
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Parses the JSON text of a plan."""
        kept: dict[str, Any] = json.loads(text)
        return cls(
            kept["number"],
            [Range(**part) for part in kept["ranges"]],
            {
                topic: TopicPositions(
                    places["id"], {int(key): value for key, value in places["next"].items()}
                )
                for topic, places in kept["places"].items()
            },
            [Loss(**loss) for loss in kept["losses"]],
        )
