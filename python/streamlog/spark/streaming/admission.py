"""How far a trigger goes: no further than it may, and not before it is worth it."""

import time
from collections.abc import Callable, Mapping
from typing import TypeAlias

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows

from streamlog.spark.reading.offsets import Offsets, Place
from streamlog.spark.reading.settings import Admission

__all__ = ["Gate", "shared_out"]

_Measure: TypeAlias = Callable[[Place, int, int], float]


class Gate:
    """Admits records to triggers."""

    def __init__(self, admission: Admission, record_bytes: _Measure) -> None:
        """By these limits; `record_bytes` tells how large records between two offsets are."""
        self._admission = admission
        self._record_bytes = record_bytes
        self._last = time.monotonic()

    def is_worth_it(self, begun: Offsets, ends: Offsets) -> bool:
        """Whether enough is there, or has waited for long enough."""
        least = self._admission.min_offsets
        waited = time.monotonic() - self._last
        backlog = sum(_backlogs(begun, ends).values())
        return least is None or backlog >= least or waited >= self._admission.max_delay

    def admit(self, begun: Offsets, ends: Offsets, limit: ReadLimit | None) -> Offsets:
        """Where the next trigger ends: at the ends, or before them, in proportion to what waits."""
        self._last = time.monotonic()
        if isinstance(limit, ReadAllAvailable) and self._is_limited():
            # A trigger that takes all there is, whatever the limits, such as Trigger.Once.
            return ends
        backlogs = _backlogs(begun, ends)
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else self._admission.max_offsets
        if most is not None:
            backlogs = shared_out(backlogs, most)
        if self._admission.max_bytes is not None:
            backlogs = self._within_bytes(begun, backlogs, self._admission.max_bytes)
        return {place: begun.get(place, end) + backlogs[place] for place, end in ends.items()}

    def _is_limited(self) -> bool:
        limits = (self._admission.max_offsets, self._admission.max_bytes)
        return any(limit is not None for limit in limits)

    def _within_bytes(self, begun: Offsets, backlogs: Offsets, most: int) -> Offsets:
        waiting = {place: count for place, count in backlogs.items() if count}
        each = {
            place: self._record_bytes(place, begun[place], begun[place] + count)
            for place, count in waiting.items()
        }
        total = sum(count * each[place] for place, count in waiting.items())
        if total <= most:
            return backlogs
        part = most / total
        # A trigger has to get on, if only by one record that is larger than the limit.
        admitted = {place: int(count * part) for place, count in waiting.items()}
        if not any(admitted.values()):
            admitted[max(waiting, key=lambda place: waiting[place])] = 1
        return backlogs | admitted


def _backlogs(begun: Offsets, ends: Offsets) -> Offsets:
    return {place: max(0, end - begun.get(place, end)) for place, end in ends.items()}


def shared_out(backlogs: Mapping[Place, int], most: int) -> Offsets:
    """At most so many offsets in all, of each partition in proportion to its backlog.

    Example:
        >>> from streamlog.spark.streaming.admission import shared_out
        >>> shared_out({("orders", 0): 10, ("orders", 1): 30}, 8)
        {('orders', 0): 2, ('orders', 1): 6}
    """
    total = sum(backlogs.values())
    if total <= most:
        return dict(backlogs)
    shares = {place: count * most // total for place, count in backlogs.items()}
    left = most - sum(shares.values())
    # What rounding left over goes to those that lost most by it.
    by_loss = sorted(backlogs, key=lambda place: -(backlogs[place] * most % total))
    for place in by_loss[:left]:
        shares[place] += 1
    return shares
