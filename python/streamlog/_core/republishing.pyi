"""What the exactly-once sink of Spark stands on: where records were staged, and publishing them.

Not for programs: it may change with every version.
"""

from collections.abc import Sequence
from typing import TypeAlias

from streamlog._core import Client
from streamlog._core.producing import Producer

__all__ = ["landings", "new_identity", "republish", "republished"]

_Stamp: TypeAlias = tuple[int, int, int]
_Part: TypeAlias = tuple[int, int, int, int]
_Plan: TypeAlias = tuple[str, str, int, _Stamp, int, Sequence[_Part]]

def new_identity(client: Client) -> tuple[int, int]:
    """A producer's id and epoch that no producer had before."""

def landings(producer: Producer) -> list[tuple[str, int, int, int, int, int]] | None:
    """Where all lies that a producer has delivered; None if that cannot be told for certain.

    For each partition: its topic and number, the producer's id, the base offsets of the first and
    the last batch, and how many records there are in all of its batches.
    """

def republished(
    client: Client, target: tuple[str, int], from_offset: int, stamp: _Stamp, patience: float
) -> tuple[int, bool, bool]:
    """How many records of a publication a partition has, and how far that can be relied on.

    Args:
        client: The client to look with.
        target: The topic and the partition that it was published to.
        from_offset: Where none of the records can lie before.
        stamp: The producer's id, its epoch, and the sequence number of the first record.
        patience: Seconds that brokers may be away.

    Returns:
        The records; whether the log has lost some from `from_offset` on, so that there may have
        been more; and whether the log ends before it, so that it is another one.
    """

def republish(
    client: Client, plans: Sequence[_Plan], batches_max: int, patience: float
) -> list[int]:
    """Publishes what is left of some plans, and returns how many records of each are there now.

    Args:
        client: The client to copy with.
        plans: For each partition the staging topic, the target, the number, the stamp of the first
            record, how many are there already, and the parts: the producer's id, the base offsets
            of the first and the last batch, and their records.
        batches_max: After so many batches of a plan the rest is left for another call.
        patience: Seconds that brokers may be away, counted from when a batch was last copied.

    Raises:
        FencedError: Another one publishes the same, and is ahead.
        BrokerError: Staged records are gone, or are not what the plan says.
    """
