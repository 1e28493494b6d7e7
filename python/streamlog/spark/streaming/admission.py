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
        self._last_served: Place | None = None
        """The last of those that were served when not all could be."""

    def is_worth_it(self, begun: Offsets, ends: Offsets) -> bool:
        """Whether enough is there, or has waited for long enough."""
        least = self._admission.min_offsets
        waited = time.monotonic() - self._last
        backlog = sum(_backlogs(begun, ends).values())
        return least is None or backlog >= least or waited >= self._admission.max_delay

    def admit(self, begun: Offsets, ends: Offsets, limit: ReadLimit | None) -> Offsets:
        """Where the next trigger ends: at the ends, or before them, in proportion to what waits.

        No partition starves: each gets on by a record at the least, in turns where the limits are
        too low for all.
        """
        self._last = time.monotonic()
        if isinstance(limit, ReadAllAvailable) and self._is_limited():
            # A trigger that takes all there is, whatever the limits, such as Trigger.Once.
            return ends
        waiting = self._in_turn(_backlogs(begun, ends))
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else self._admission.max_offsets
        admitted = waiting if most is None else shared_out(waiting, most)
        if self._admission.max_bytes is not None:
            admitted = self._within_bytes(begun, admitted, self._admission.max_bytes)
        self._keep_turn(waiting, admitted)
        return {place: begun.get(place, end) + admitted[place] for place, end in ends.items()}

    def _is_limited(self) -> bool:
        limits = (self._admission.max_offsets, self._admission.max_bytes)
        return any(limit is not None for limit in limits)

    def _in_turn(self, backlogs: Offsets) -> Offsets:
        """The backlogs, first those that come after the one that was served last."""
        last = self._last_served
        places = sorted(backlogs, key=lambda place: (last is not None and place <= last, place))
        return {place: backlogs[place] for place in places}

    def _keep_turn(self, waiting: Offsets, admitted: Offsets) -> None:
        served = [place for place in waiting if admitted[place]]
        if any(waiting[place] and not admitted[place] for place in waiting):
            self._last_served = served[-1]

    def _within_bytes(self, begun: Offsets, backlogs: Offsets, most: int) -> Offsets:
        waiting = {place: count for place, count in backlogs.items() if count}
        each = {
            place: self._record_bytes(place, begun[place], begun[place] + count)
            for place, count in waiting.items()
        }
        if sum(count * each[place] for place, count in waiting.items()) <= most:
            return backlogs
        firsts = _fitting(each, most)
        left = max(0.0, most - sum(each[place] for place in firsts))
        rest = sum((waiting[place] - 1) * each[place] for place in firsts)
        part = min(1.0, left / rest) if rest else 0.0
        admitted = {place: 1 + int((waiting[place] - 1) * part) for place in firsts}
        return dict.fromkeys(backlogs, 0) | admitted


def _backlogs(begun: Offsets, ends: Offsets) -> Offsets:
    return {place: max(0, end - begun.get(place, end)) for place, end in ends.items()}


def _fitting(each: Mapping[Place, float], most: int) -> list[Place]:
    """The first partitions of which one record each fits; one of them at the least.

    A trigger has to get on, if only by one record that is larger than the limit.
    """
    found: list[Place] = []
    total = 0.0
    for place, size in each.items():
        total += size
        if found and total > most:
            break
        found.append(place)
    return found


def shared_out(backlogs: Mapping[Place, int], most: int) -> Offsets:
    """At most so many offsets in all, of each partition in proportion to its backlog.

    Every partition that has any gets one at the least, so that none starves beside a busy one;
    where there are more partitions than offsets, the first ones do.

    Example:
        >>> from streamlog.spark.streaming.admission import shared_out
        >>> shared_out({("orders", 0): 1_000_000, ("orders", 1): 5, ("orders", 2): 0}, 1000)
        {('orders', 0): 999, ('orders', 1): 1, ('orders', 2): 0}
    """
    if sum(backlogs.values()) <= most:
        return dict(backlogs)
    firsts = [place for place, count in backlogs.items() if count][:most]
    shares = dict.fromkeys(backlogs, 0) | dict.fromkeys(firsts, 1)
    rest = {place: backlogs[place] - 1 for place in firsts}
    left, total = most - len(firsts), sum(rest.values())
    if left == 0:
        return shares
    for place, count in rest.items():
        shares[place] += count * left // total
    # What rounding left over goes to those that lost most by it.
    over = most - sum(shares.values())
    by_loss = sorted(rest, key=lambda place: -(rest[place] * left % total))
    for place in by_loss[:over]:
        shares[place] += 1
    return shares
