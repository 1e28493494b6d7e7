"""Offsets with several values, values at several offsets, and offsets without a value."""

from collections import defaultdict
from collections.abc import Iterator

from faults.checker.anomaly import Anomaly, Kind
from faults.checker.index import Index
from faults.topics import TopicKind


def inconsistent_offsets(index: Index) -> Iterator[Anomaly]:
    """Offsets with two values."""
    for (partition, offset), values in index.values.items():
        if len(values) > 1:
            detail = f"offset {offset} has the values {sorted(values)}"
            yield Anomaly(Kind.INCONSISTENT_OFFSETS, partition, detail)


def repeated_values(index: Index) -> Iterator[Anomaly]:
    """Values that polls or acknowledgements have shown at two offsets.

    A value that is nowhere but at another offset than acknowledged was moved, not repeated.
    """
    acknowledged = dict(index.acknowledged())
    for value, places in index.offsets.items():
        if len(places) < 2 or index.may_repeat(value):
            continue
        moved = acknowledged.get(value) not in index.polled[value]
        if len(index.polled[value]) > 1 or not moved:
            partition, _ = min(places)
            yield Anomaly(Kind.DUPLICATE, partition, f"value {value} is at {sorted(places)}")


def unknown_offsets(index: Index) -> Iterator[Anomaly]:
    """Offsets below others in the final polls at which nothing is known to have been.

    Compaction removes records of which nobody may have heard. Offsets that count bytes have a gap
    behind each batch; `replicas.gaps` finds other gaps in the logs themselves.
    """
    if index.topic in {TopicKind.COMPACTED, TopicKind.BYTE}:
        return
    found: dict[int, set[int]] = defaultdict(set)
    for poll in index.history.polls:
        if poll.final:
            for seen in poll.records:
                found[seen.partition].add(seen.offset)
    for partition, offsets in found.items():
        missing = set(range(max(offsets))) - offsets
        for offset in sorted(missing):
            if (partition, offset) not in index.values:
                yield Anomaly(Kind.GAP, partition, f"nothing is at offset {offset}")
