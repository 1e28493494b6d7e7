"""Records that consumers got and should not have."""

from collections.abc import Iterator

from faults.checker.anomaly import Anomaly, Kind
from faults.checker.index import Index
from faults.history.operations import Outcome


def aborted_reads(index: Index) -> Iterator[Anomaly]:
    """Values that polls have shown although their producer was told that nothing was written."""
    for value, places in index.polled.items():
        found = index.sent.get(value)
        if found is not None and found[1].outcome is Outcome.FAILED:
            partition, offset = min(places)
            yield Anomaly(Kind.ABORTED_READ, partition, f"value {value} at offset {offset}")


def damaged_payloads(index: Index) -> Iterator[Anomaly]:
    """Payloads that differ from their own checksums."""
    for poll in index.history.polls:
        for seen in poll.records:
            if seen.value is None:
                yield Anomaly(Kind.DAMAGED_PAYLOAD, seen.partition, f"at offset {seen.offset}")


def strange_values(index: Index) -> Iterator[Anomaly]:
    """Values that nobody sent, or not to the partition where they are."""
    for value, places in index.polled.items():
        found = index.sent.get(value)
        for partition, offset in sorted(places):
            if found is None or found[0].partition != partition:
                yield Anomaly(Kind.NEVER_SENT, partition, f"value {value} at offset {offset}")
