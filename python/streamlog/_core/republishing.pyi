"""Internals of Spark's exactly-once sink: positions of staged records, and their publication.

Not a public API: it may change with every version.
"""

from collections.abc import Sequence
from typing import TypeAlias

from streamlog._core import Client
from streamlog._core.producing import Producer

__all__ = ["delivered_batches", "new_identity", "republish", "republished"]

_Stamp: TypeAlias = tuple[int, int, int]
_Part: TypeAlias = tuple[int, int, int, int]
_Plan: TypeAlias = tuple[str, str, int, _Stamp, int, Sequence[_Part]]

def new_identity(client: Client) -> tuple[int, int]:
    """Returns a new producer id and epoch."""

def delivered_batches(producer: Producer) -> list[tuple[str, int, int, int, int, int]] | None:
    """Returns the positions of all records that a producer has delivered; None if uncertain.

    For each partition: topic and number, the producer id, the base offsets of the first and the
    last batch, and the number of records in all of its batches.
    """

def republished(
    client: Client, target: tuple[str, int], from_offset: int, stamp: _Stamp, patience: float
) -> tuple[int, bool, bool]:
    """Returns the number of published records in a partition, and doubts about the number.

    Args:
        client: The client to read with.
        target: The topic and the partition of the publication.
        from_offset: An offset before which the records cannot be.
        stamp: The producer id, its epoch, and the sequence number of the first record.
        patience: Seconds to wait for unreachable brokers.

    Returns:
        The number of records; true if the log now starts after `from_offset`, so that there may
        have been more; and true if the log ends before `from_offset`: the topic was recreated.
    """

def republish(
    client: Client, plans: Sequence[_Plan], batches_max: int, patience: float
) -> list[int]:
    """Publishes the rest of some plans, and returns the published records of each.

    Args:
        client: The client to copy with.
        plans: For each partition the staging topic, the target, the partition's number, the stamp
            of the first record, the number of published records, and the parts: the producer id,
            the base offsets of the first and the last batch, and the number of records.
        batches_max: The maximal number of batches of each plan to publish in this call.
        patience: Seconds to wait for unreachable brokers, since a batch was last copied.

    Raises:
        FencedError: Another process publishes the same plan, and is ahead.
        BrokerError: Staged records are missing, or differ from the plan.
    """
