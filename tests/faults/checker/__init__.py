"""The checks of a history: which records were lost, repeated, withdrawn or out of order."""

from collections.abc import Callable, Iterator

from faults.checker.anomaly import Anomaly
from faults.checker.index import Index
from faults.checker.losses import lost_records
from faults.checker.offsets import inconsistent_offsets, repeated_values, unknown_offsets
from faults.checker.order import overtaken_sends, unordered_polls, unordered_sends
from faults.checker.strangers import aborted_reads, damaged_payloads, strange_values
from faults.checker.watermarks import fallen_watermarks
from faults.history.operations import History
from faults.topics import TopicKind

CHECKS: tuple[Callable[[Index], Iterator[Anomaly]], ...] = (
    inconsistent_offsets,
    repeated_values,
    unknown_offsets,
    lost_records,
    aborted_reads,
    damaged_payloads,
    strange_values,
    unordered_polls,
    unordered_sends,
    overtaken_sends,
    fallen_watermarks,
)


def anomalies(history: History, topic: TopicKind = TopicKind.RECORD) -> list[Anomaly]:
    """Everything that must not happen to a topic of a kind, and did."""
    index = Index(history, topic)
    return [anomaly for check in CHECKS for anomaly in check(index)]


def repetitions(history: History) -> int:
    """The number of records written more than once by producers without idempotence."""
    index = Index(history)
    return sum(
        len(offsets) > 1 and index.may_repeat(value) for value, offsets in index.offsets.items()
    )


def compacted(history: History) -> int:
    """The number of acknowledged records that compaction has removed, and rightly."""
    index = Index(history, TopicKind.COMPACTED)
    found = index.acknowledged()
    return sum(
        value not in index.final and index.is_superseded(value, place) for value, place in found
    )
