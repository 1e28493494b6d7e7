"""The commit record of a batch: its staged records, and their positions in the targets.

It is JSON, readable with any consumer. Each partition is a list of values without names, to keep a
record of many partitions short; `version` is increased when the form changes.
"""

import json
from dataclasses import astuple, dataclass, replace
from typing import Any

from streamlog.errors import StreamlogError

__all__ = ["BatchRecord", "Part", "PartitionPlan"]

_VERSION = 2
_UNPLANNED = 1
"""The version without ``plan``."""


@dataclass(frozen=True)
class Part:
    """The records that a task has staged in a partition."""

    producer: int
    """The producer id of its batches."""
    first: int
    """Base offset of the first batch."""
    last: int
    """Base offset of the last batch."""
    records: int


@dataclass(frozen=True)
class PartitionPlan:
    """A partition of a target, and the records of the batch for it."""

    target: str
    staged: str
    partition: int
    sequence: int
    """The sequence number of the batch's first record, among all that the query has published."""
    offset: int
    """The end of the target's log before any record of the batch was published."""
    staged_end: int
    """The end of the staging log, before which no record of a later batch lies."""
    parts: tuple[Part, ...] = ()

    @property
    def records(self) -> int:
        """The number of records of the batch."""
        return sum(part.records for part in self.parts)

    @property
    def place(self) -> tuple[str, int]:
        """The target and the partition number."""
        return self.target, self.partition


@dataclass(frozen=True)
class BatchRecord:
    """The record that commits a batch of a query."""

    batch: int
    previous: int | None
    """The offset of its predecessor in the commit log, whose first successor alone counts."""
    writer: str
    """The name of the attempt that wrote the record; every attempt has another name."""
    producer: int
    """The producer id of all records published by the query."""
    epoch: int
    staged: dict[str, str]
    """The staging topics of the batch, and the id of each, which detects a recreated topic."""
    partitions: tuple[PartitionPlan, ...]
    """Includes partitions without records of the batch, to carry on their sequence numbers."""
    plan: str | None = None
    """The plan of the batch in the checkpoint; None if the driver could not read it."""

    def of_partition(self, number: int) -> "BatchRecord":
        """Returns the record with only the element `number` of `partitions`."""
        return replace(self, partitions=(self.partitions[number],))

    def encoded(self) -> bytes:
        """Returns the record's value."""
        rows = [list(astuple(plan)) for plan in self.partitions]
        fields: dict[str, Any] = {
            "version": _VERSION,
            "batch": self.batch,
            "previous": self.previous,
            "writer": self.writer,
            "producer": self.producer,
            "epoch": self.epoch,
            "staged": self.staged,
            "plan": self.plan,
            "partitions": rows,
        }
        return json.dumps(fields, separators=(",", ":")).encode()

    @classmethod
    def decoded(cls, value: bytes) -> "BatchRecord":
        """Parses a record's value.

        Raises:
            StreamlogError: Its version is not supported.
        """
        fields = json.loads(value)
        version = fields.pop("version")
        if version not in (_UNPLANNED, _VERSION):
            raise StreamlogError(
                f"the query's commit log has a record of version {version}: a newer streamlog has "
                f"written it, and this one knows {_VERSION}"
            )
        rows = fields.pop("partitions")
        return cls(**fields, partitions=tuple(map(_plan, rows)))


def _plan(row: list[Any]) -> PartitionPlan:
    target, staged, partition, sequence, offset, staged_end, rows = row
    parts = tuple(Part(*part) for part in rows)
    return PartitionPlan(target, staged, partition, sequence, offset, staged_end, parts)
