"""What the record of a batch says: which staged records belong to it, and where they come to lie.

As JSON, so that people can read it with any consumer. A partition is a list, since there may be
many; `version` rises when the form changes.
"""

import json
from dataclasses import astuple, dataclass
from typing import Any

from streamlog.errors import StreamlogError

__all__ = ["BatchRecord", "Part", "PartitionPlan"]

_VERSION = 1


@dataclass(frozen=True)
class Part:
    """What a task has staged in a partition."""

    producer: int
    """The id that its batches bear."""
    first: int
    """Base offset of the first batch."""
    last: int
    """Base offset of the last batch."""
    records: int


@dataclass(frozen=True)
class PartitionPlan:
    """A partition of a target, and what the batch brings it."""

    target: str
    staged: str
    partition: int
    sequence: int
    """The number of the batch's first record there, among all that the query has published."""
    offset: int
    """Where the target's log ended before anything of the batch was published."""
    staged_end: int
    """Where the staging log ended: nothing of later batches lies before."""
    parts: tuple[Part, ...] = ()

    @property
    def records(self) -> int:
        """Records that the batch brings."""
        return sum(part.records for part in self.parts)

    @property
    def place(self) -> tuple[str, int]:
        """The target and the partition's number."""
        return self.target, self.partition


@dataclass(frozen=True)
class BatchRecord:
    """The one record that makes a batch of a query happen."""

    batch: int
    previous: int | None
    """The offset of the record before it in the commit log: it counts only behind that one."""
    writer: str
    """Who wrote it; every attempt has another name."""
    producer: int
    """The id that everything published by the query bears."""
    epoch: int
    staged: dict[str, str]
    """The staging topics of the batch, and the id of each: one made anew is another."""
    partitions: tuple[PartitionPlan, ...]
    """Also those that the batch brings nothing: their numbers go on with the next one."""

    def encoded(self) -> bytes:
        """The record's value."""
        rows = [list(astuple(plan)) for plan in self.partitions]
        fields: dict[str, Any] = {
            "version": _VERSION,
            "batch": self.batch,
            "previous": self.previous,
            "writer": self.writer,
            "producer": self.producer,
            "epoch": self.epoch,
            "staged": self.staged,
            "partitions": rows,
        }
        return json.dumps(fields, separators=(",", ":")).encode()

    @classmethod
    def decoded(cls, value: bytes) -> "BatchRecord":
        """The record of this value.

        Raises:
            StreamlogError: It is of a version that is not known here.
        """
        fields = json.loads(value)
        version = fields.pop("version")
        if version != _VERSION:
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
