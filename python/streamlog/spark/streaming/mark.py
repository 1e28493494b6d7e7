"""How far a stream is, as Spark's checkpoint keeps it.

The JSON is that of Kafka's own source, ``{"topic":{"0":123}}``, and beside the topics the ids that
they had: offsets of one topic mean nothing in another that was made under the same name.
Checkpoints without ids are read too.

The mark at the end of a query's first trigger tells where that began as well. Spark writes down the
ends of triggers only, so that a first trigger that is done again has no beginning but what the
source says anew: by then the end of the log, a time an hour ago or a group are somewhere else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from streamlog.spark.reading.offsets import Nested, Offsets, flat, nested

__all__ = ["BEGAN", "IDS", "Kept", "Mark"]

Kept: TypeAlias = dict[str, dict[str, int] | dict[str, str] | Nested]
"""A mark as JSON has it."""

IDS = "topic ids"
"""Under which the ids are kept. No topic has this name: it has a space."""
BEGAN = "began at"
"""Under which it is kept where the first trigger began."""


@dataclass(frozen=True)
class Mark:
    """The offset that is read next in each partition, and of which topics."""

    offsets: Offsets
    ids: dict[str, str] = field(default_factory=dict)
    began: Offsets | None = field(default=None, compare=False)
    """Where the trigger began that ends here, if it is the first; no part of where it ends."""

    @classmethod
    def of(cls, kept: Mapping[str, Mapping[str, Any]]) -> "Mark":
        """What a checkpoint has.

        Example:
            >>> from streamlog.spark.streaming.mark import Mark
            >>> Mark.of({"orders": {"0": 5}, "topic ids": {"orders": "x7Ff"}})
            Mark(offsets={('orders', 0): 5}, ids={'orders': 'x7Ff'}, began=None)
        """
        topics = {
            topic: {number: int(offset) for number, offset in partitions.items()}
            for topic, partitions in kept.items()
            if topic not in (IDS, BEGAN)
        }
        ids = {topic: str(id) for topic, id in kept.get(IDS, {}).items()}
        return cls(flat(topics), ids, flat(kept[BEGAN]) if BEGAN in kept else None)

    def json(self) -> Kept:
        """What is kept in a checkpoint; equal marks are equal to the letter."""
        kept: Kept = {**nested(self.offsets)}
        if self.ids:
            kept[IDS] = dict(sorted(self.ids.items()))
        if self.began is not None:
            kept[BEGAN] = nested(self.began)
        return kept

    def renewed(self, ids: Mapping[str, str]) -> set[str]:
        """The topics that have another id now."""
        return {topic for topic, id in ids.items() if self.ids.get(topic, id) != id}
