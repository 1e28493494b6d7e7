"""Filters that narrow what is read: by topic, partition, offset, and the beginning of a time.

Spark gives filters only where ``spark.sql.python.filterPushdown.enabled`` is on, and refuses a
reader that could take them where it is off. So there are two readers, and who asks decides.

Spark 4.3 keeps what a filtered read was planned as for all queries of the same ``load()``: the next
one, with other filters or none, reads that again and lacks rows. So filters are taken only where
the option ``pushdown`` says that a table is for one query.
"""

import sys
from collections.abc import Callable, Iterable
from datetime import datetime
from math import floor
from typing import Any

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)

from streamlog.spark.reading.batch import BatchReader
from streamlog.spark.reading.logs import Logs
from streamlog.spark.reading.offsets import Place
from streamlog.spark.reading.ranges import OffsetRange
from streamlog.spark.reading.settings import Reading

__all__ = ["FilteringReader", "is_asked_for_filters"]

_ASKING = "data_source_pushdown_filters"
"""How the module of Spark ends that asks for a reader and then gives it filters."""

_TESTS: dict[type[Filter], Callable[[Any, Any], bool]] = {
    EqualTo: lambda own, given: own == given,
    EqualNullSafe: lambda own, given: own == given,
    GreaterThan: lambda own, given: own > given,
    GreaterThanOrEqual: lambda own, given: own >= given,
    LessThan: lambda own, given: own < given,
    LessThanOrEqual: lambda own, given: own <= given,
    In: lambda own, given: own in given,
    StringStartsWith: lambda own, given: own.startswith(given),
    StringEndsWith: lambda own, given: own.endswith(given),
    StringContains: lambda own, given: given in own,
}


class FilteringReader(BatchReader):
    """Reads once, and no more than filters leave."""

    def __init__(self, reading: Reading) -> None:
        """Filters come later."""
        super().__init__(reading)
        self._filters: list[Filter] = []

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Takes what narrows the read, and returns what Spark has to look at all the same."""
        for given in filters:
            if _is_of_place(given) or _is_of_offset(given):
                self._filters.append(given)
            elif _is_of_time(given):
                # Records of that time may lie among others, so Spark looks at them too.
                self._filters.append(given)
                yield given
            elif not _is_always_true(given):
                yield given

    def narrowed(self, logs: Logs, ranges: list[OffsetRange]) -> list[OffsetRange]:
        """What is left of the ranges after the filters."""
        for given in self._filters:
            if _is_of_place(given):
                ranges = [part for part in ranges if _is_met(given, part)]
            elif _is_of_offset(given):
                ranges = [_cut_by_offset(given, part) for part in ranges]
            else:
                ranges = _cut_by_time(given, logs, ranges)
        return ranges


def is_asked_for_filters() -> bool:
    """Whether Spark asks for the reader in order to give it filters; asked by what it calls."""
    frame = sys._getframe(2)
    spec = frame.f_globals.get("__spec__")
    names = (frame.f_globals.get("__name__", ""), getattr(spec, "name", ""))
    return any(str(name).endswith(_ASKING) for name in names)


def _column(given: Filter) -> str:
    inner = given.child if isinstance(given, Not) else given
    path: tuple[str, ...] = getattr(inner, "attribute", ())
    return path[0] if len(path) == 1 else ""


def _is_of_place(given: Filter) -> bool:
    inner = given.child if isinstance(given, Not) else given
    return _column(given) in ("topic", "partition") and type(inner) in _TESTS


def _is_of_offset(given: Filter) -> bool:
    kinds = (EqualTo, EqualNullSafe, GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual)
    return _column(given) == "offset" and isinstance(given, kinds)


def _is_of_time(given: Filter) -> bool:
    kinds = (EqualTo, GreaterThan, GreaterThanOrEqual)
    return (
        _column(given) == "timestamp"
        and isinstance(given, kinds)
        and isinstance(given.value, datetime)
    )


def _is_always_true(given: Filter) -> bool:
    return isinstance(given, IsNotNull) and _column(given) in ("topic", "partition", "offset")


def _is_met(given: Filter, part: OffsetRange) -> bool:
    inner = given.child if isinstance(given, Not) else given
    own: object = part.topic if _column(given) == "topic" else part.partition
    is_met = _TESTS[type(inner)](own, inner.value)  # type: ignore[attr-defined]
    return is_met != isinstance(given, Not)


def _cut_by_offset(given: Filter, part: OffsetRange) -> OffsetRange:
    value = given.value  # type: ignore[attr-defined]
    start, stop = part.start, part.stop
    if isinstance(given, GreaterThan):
        start = max(start, value + 1)
    elif isinstance(given, GreaterThanOrEqual):
        start = max(start, value)
    elif isinstance(given, LessThan):
        stop = min(stop, value)
    elif isinstance(given, LessThanOrEqual):
        stop = min(stop, value + 1)
    else:
        start, stop = max(start, value), min(stop, value + 1)
    return OffsetRange(part.topic, part.partition, start, stop, part.topic_id)


def _cut_by_time(given: Filter, logs: Logs, ranges: list[OffsetRange]) -> list[OffsetRange]:
    time_ms = floor(given.value.timestamp() * 1000)  # type: ignore[attr-defined]
    found: dict[Place, int | None] = {}
    for topic in {part.topic for part in ranges}:
        found |= logs.at(topic, time_ms)

    def start_of(part: OffsetRange) -> int:
        first = found.get((part.topic, part.partition))
        return part.stop if first is None else max(part.start, first)

    return [
        OffsetRange(part.topic, part.partition, start_of(part), part.stop, part.topic_id)
        for part in ranges
    ]
