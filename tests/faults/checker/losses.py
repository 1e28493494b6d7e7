"""Records that were acknowledged or shown, and are gone, although nothing has superseded them.

A record is reported once, by what is known of it: whether it was acknowledged, whether anybody has
seen it, and whether it is elsewhere now.
"""

from collections.abc import Iterator

from faults.checker.anomaly import Anomaly, Kind
from faults.checker.index import Index


def lost_records(index: Index) -> Iterator[Anomaly]:
    """Acknowledged records that are not in the final polls, and others that were shown before."""
    acknowledged = dict(index.acknowledged())
    for value, (partition, offset) in acknowledged.items():
        kind = _loss(index, value, (partition, offset))
        if kind is not None:
            yield Anomaly(kind, partition, f"value {value}, acknowledged at offset {offset}")
    for value, places in index.polled.items():
        if value in acknowledged or value in index.final:
            continue
        partition, offset = place = min(places)
        if index.is_superseded(value, place):
            continue
        detail = f"value {value}, shown at offset {offset}"
        yield Anomaly(Kind.EXPOSED_THEN_LOST, partition, detail)


def _loss(index: Index, value: int, place: tuple[int, int]) -> Kind | None:
    partition, offset = place
    if value in index.final:
        is_there = place in index.final[value]
        # Of a record that a retry has repeated, compaction leaves the last copy.
        is_last_copy = index.may_repeat(value) and index.is_superseded(value, place)
        return None if is_there or is_last_copy else Kind.ACKED_MOVED
    if index.is_superseded(value, place):
        return None
    if value not in index.polled:
        is_behind = index.last_read[partition] < offset
        return Kind.UNSEEN if is_behind else Kind.LOST_WRITE
    return Kind.ACKED_MISSING
