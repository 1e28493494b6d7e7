"""The extent of a trigger: its end within the limits, and its delay for a minimum of records."""

import time
from collections.abc import Callable, Mapping
from typing import TypeAlias

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows

from streamlog.spark.reading.offsets import Offsets, TopicPartition
from streamlog.spark.reading.settings import Admission

__all__ = ["Gate", "shared_out"]

_Measure: TypeAlias = Callable[[TopicPartition, int, int], float]


class Gate:
    """Admits records to triggers."""

    def __init__(self, admission: Admission, record_bytes: _Measure) -> None:
        """Takes the limits; `record_bytes` returns the mean size of records between two offsets."""
        self._admission = admission
        self._record_bytes = record_bytes
        self._last = time.monotonic()
        self._last_served: TopicPartition | None = None
        """The last partition served by the latest trigger that could not serve all."""

    def is_worth_it(self, begun: Offsets, ends: Offsets) -> bool:
        """Returns true if enough records are waiting, or the last trigger was long enough ago."""
        least = self._admission.min_offsets
        waited = time.monotonic() - self._last
        backlog = sum(_backlogs(begun, ends).values())
        return least is None or backlog >= least or waited >= self._admission.max_delay

    def admit(self, begun: Offsets, ends: Offsets, limit: ReadLimit | None) -> Offsets:
        """Returns the end of the next trigger: `ends`, or less, in proportion to the backlogs.

        No partition starves: each advances by at least one record, or takes turns if the limits are
        too low for all.
        """
        self._last = time.monotonic()
        if isinstance(limit, ReadAllAvailable) and self._is_limited():
            # A trigger without limits, such as Trigger.Once.
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
        """Returns the backlogs in round-robin order, beginning after the partition served last."""
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


def _fitting(each: Mapping[TopicPartition, float], most: int) -> list[TopicPartition]:
    """Returns the first partitions of which one record each fits the limit; at least one.

    A trigger has to make progress, if only by a single record that exceeds the limit.
    """
    found: list[TopicPartition] = []
    total = 0.0
    for place, size in each.items():
        total += size
        if found and total > most:
            break
        found.append(place)
    return found


def shared_out(backlogs: Mapping[TopicPartition, int], most: int) -> Offsets:
    """Divides `most` offsets among the partitions in proportion to their backlogs.

    Every partition with a backlog gets at least one offset, so that none starves beside a busy one;
    if there are more partitions than offsets, only the first partitions get one.

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
    # Give the remainder of the division to the partitions that lost most by rounding.
    over = most - sum(shares.values())
    by_loss = sorted(rest, key=lambda place: -(rest[place] * left % total))
    for place in by_loss[:over]:
        shares[place] += 1
    return shares
