"""How far a stream is, as Spark's checkpoint keeps it.

The JSON is that of Kafka's own source, ``{"topic":{"0":123}}``, and beside the topics the ids that
they had: offsets of one topic mean nothing in another that was made under the same name.
Checkpoints without ids are read too.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from streamlog.spark.reading.offsets import Offsets, flat, nested

__all__ = ["IDS", "Kept", "Mark"]

Kept: TypeAlias = dict[str, dict[str, int] | dict[str, str]]
"""A mark as JSON has it."""

IDS = "topic ids"
"""Under which the ids are kept. No topic has this name: it has a space."""


@dataclass(frozen=True)
class Mark:
    """The offset that is read next in each partition, and of which topics."""

    offsets: Offsets
    ids: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, kept: Mapping[str, Mapping[str, int] | Mapping[str, str]]) -> "Mark":
        """What a checkpoint has.

        Example:
            >>> from streamlog.spark.streaming.mark import Mark
            >>> Mark.of({"orders": {"0": 5}, "topic ids": {"orders": "x7Ff"}})
            Mark(offsets={('orders', 0): 5}, ids={'orders': 'x7Ff'})
        """
        topics = {
            topic: {number: int(offset) for number, offset in partitions.items()}
            for topic, partitions in kept.items()
            if topic != IDS
        }
        ids = {topic: str(id) for topic, id in kept.get(IDS, {}).items()}
        return cls(flat(topics), ids)

    def json(self) -> Kept:
        """What is kept in a checkpoint; equal marks are equal to the letter."""
        kept: Kept = {**nested(self.offsets)}
        if self.ids:
            kept[IDS] = dict(sorted(self.ids.items()))
        return kept

    def renewed(self, ids: Mapping[str, str]) -> set[str]:
        """The topics that have another id now."""
        return {topic for topic, id in ids.items() if self.ids.get(topic, id) != id}
