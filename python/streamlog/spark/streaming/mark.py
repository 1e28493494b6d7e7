"""The position of a stream, as stored in Spark's checkpoint.

The JSON is that of Kafka's own source, ``{"topic":{"0":123}}``, with the ids of the topics beside
it: offsets are meaningless in a topic that was recreated under the same name. Checkpoints without
ids can be read too.

The mark at the end of a query's first trigger also has the start of that trigger. Spark stores only
the ends of triggers, so a repeated first trigger would otherwise compute its start again. By then
the end of the log, the time an hour ago or the offsets of a group have changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from streamlog.spark.reading.offsets import Nested, Offsets, flat, nested

__all__ = ["BEGAN", "IDS", "Kept", "Mark"]

Kept: TypeAlias = dict[str, dict[str, int] | dict[str, str] | Nested]
"""A mark in JSON's form."""

IDS = "topic ids"
"""The key of the ids. It is not a valid topic name, because it has a space."""
BEGAN = "began at"
"""The key of the first trigger's start."""


@dataclass(frozen=True)
class Mark:
    """The next offset to read in each partition, and the ids of the topics."""

    offsets: Offsets
    ids: dict[str, str] = field(default_factory=dict)
    began: Offsets | None = field(default=None, compare=False)
    """The start of the trigger that ends at this mark, if it is the first; not compared."""

    @classmethod
    def of(cls, kept: Mapping[str, Mapping[str, Any]]) -> "Mark":
        """Parses the mark of a checkpoint.

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
        """Returns the form for a checkpoint; equal marks have equal texts."""
        kept: Kept = {**nested(self.offsets)}
        if self.ids:
            kept[IDS] = dict(sorted(self.ids.items()))
        if self.began is not None:
            kept[BEGAN] = nested(self.began)
        return kept

    def renewed(self, ids: Mapping[str, str]) -> set[str]:
        """Returns the topics whose id has changed."""
        return {topic for topic, id in ids.items() if self.ids.get(topic, id) != id}
