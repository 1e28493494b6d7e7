"""The order of polls and sends."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import pairwise

from faults.checker.anomaly import Anomaly, Kind
from faults.checker.index import Index
from faults.history.operations import Assign, Outcome, Poll, Send

Offsets = dict[int, list[int]]


def unordered_polls(index: Index) -> Iterator[Anomaly]:
    """Polls of a process that skip known records or go back, within one and from one to the next.

    A record is known here if anybody was shown it, and compaction cannot have removed it. From one
    poll to the next, both are allowed while a group assigns the partitions.
    """
    known: Offsets = defaultdict(list)
    shown = ((value, place) for value, places in index.polled.items() for place in places)
    for partition, offset in sorted(
        {place for value, place in shown if not index.is_superseded(value, place)}
    ):
        known[partition].append(offset)
    positions: dict[int, dict[int, int]] = defaultdict(dict)
    subscribed: set[int] = set()
    steps: list[Poll | Assign] = [*index.history.assigns, *index.history.polls]
    steps.sort(key=lambda step: step.at if isinstance(step, Assign) else step.invoked)
    for step in steps:
        if isinstance(step, Assign):
            positions[step.process] = {}
            (subscribed.add if step.subscribed else subscribed.discard)(step.process)
        else:
            free = step.process in subscribed
            yield from _steps(step, known, {} if free else positions[step.process])


def _steps(poll: Poll, known: Offsets, positions: dict[int, int]) -> Iterator[Anomaly]:
    seen_here: set[int] = set()
    for seen in poll.records:
        partition, offset = seen.partition, seen.offset
        before = positions.get(partition)
        within = partition in seen_here
        seen_here.add(partition)
        positions[partition] = offset
        if before is None:
            continue
        detail = f"process {poll.process} goes from {before} to {offset}"
        if offset <= before:
            kind = Kind.INT_NONMONOTONIC_POLL if within else Kind.NONMONOTONIC_POLL
            yield Anomaly(kind, partition, detail)
        elif _between(known[partition], before, offset):
            kind = Kind.INT_POLL_SKIP if within else Kind.POLL_SKIP
            yield Anomaly(kind, partition, detail)


def _between(known: list[int], low: int, high: int) -> bool:
    next_known = bisect_left(known, low + 1)
    return next_known < len(known) and known[next_known] < high


def _acknowledged(send: Send) -> list[int]:
    records = (r for r in send.records if r.outcome is Outcome.OK)
    return [r.offset for r in records if r.offset is not None]


def unordered_sends(index: Index) -> Iterator[Anomaly]:
    """Sends of a process that have lower offsets than its earlier ones, or fall within one.

    Without idempotence a request that waits at a former leader is repeated after later ones.
    """
    last: dict[tuple[int, int], int] = {}
    for send in index.history.sends:
        if send.process in index.history.repeating:
            continue
        offsets = _acknowledged(send)
        who = f"process {send.process} writes to"
        for before, after in pairwise(offsets):
            if after <= before:
                detail = f"{who} {before}, then {after}"
                yield Anomaly(Kind.INT_NONMONOTONIC_SEND, send.partition, detail)
        if not offsets:
            continue
        slot = (send.process, send.partition)
        before = last.get(slot, -1)
        if min(offsets) <= before:
            detail = f"{who} {before}, then {min(offsets)}"
            yield Anomaly(Kind.NONMONOTONIC_SEND, send.partition, detail)
        last[slot] = max(before, *offsets)


def overtaken_sends(index: Index) -> Iterator[Anomaly]:
    """Sends below one of another process that was answered before they began."""
    answered: dict[int, dict[int, int]] = defaultdict(dict)
    pending: list[tuple[int, int, int, int]] = []
    for send in index.history.sends:
        while pending and pending[0][0] < send.invoked:
            _, partition, process, offset = heappop(pending)
            highest = answered[partition]
            highest[process] = max(highest.get(process, -1), offset)
        offsets = _acknowledged(send)
        if not offsets:
            continue
        # An idempotent or a lone request keeps the order of one process: that is another check.
        for process, offset in answered[send.partition].items():
            if process != send.process and offset > min(offsets):
                detail = f"{min(offsets)} of process {send.process} began after {offset}"
                yield Anomaly(Kind.REALTIME_ORDER, send.partition, detail)
        heappush(pending, (send.returned, send.partition, send.process, max(offsets)))
