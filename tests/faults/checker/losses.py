"""Records that were acknowledged or shown, and are gone.

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
        partition, offset = min(places)
        detail = f"value {value}, shown at offset {offset}"
        yield Anomaly(Kind.EXPOSED_THEN_LOST, partition, detail)


def _loss(index: Index, value: int, place: tuple[int, int]) -> Kind | None:
    partition, offset = place
    if value not in index.polled:
        is_behind = index.last_read[partition] < offset
        return Kind.UNSEEN if is_behind else Kind.LOST_WRITE
    if value not in index.final:
        return Kind.ACKED_MISSING
    return None if place in index.final[value] else Kind.ACKED_MOVED
