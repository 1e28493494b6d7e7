"""High watermarks that fall before the eyes of clients."""

from collections import defaultdict
from collections.abc import Iterator

from faults.checker.anomaly import Anomaly, Kind
from faults.checker.index import Index
from faults.history.operations import Outcome

Mark = tuple[int, int, str]
"""When an end was known, its offset, and by what."""


def fallen_watermarks(index: Index) -> Iterator[Anomaly]:
    """Ends that lie below what had been known when they were asked for.

    An acknowledgement, a record that was shown and an earlier end all show a watermark.
    """
    marks = _marks(index)
    position: dict[int, int] = defaultdict(int)
    highest: dict[int, Mark] = {}
    for end in index.history.ends:
        known = marks[end.partition]
        at = position[end.partition]
        while at < len(known) and known[at][0] < end.invoked:
            if end.partition not in highest or known[at][1] > highest[end.partition][1]:
                highest[end.partition] = known[at]
            at += 1
        position[end.partition] = at
        mark = highest.get(end.partition)
        if mark is not None and mark[1] > end.offset:
            detail = f"the end is {end.offset} after {mark[2]} has shown {mark[1]}"
            yield Anomaly(Kind.HW_REGRESSION, end.partition, detail)


def _marks(index: Index) -> dict[int, list[Mark]]:
    marks: dict[int, list[Mark]] = defaultdict(list)
    for end in index.history.ends:
        marks[end.partition].append((end.returned, end.offset, "an earlier end"))
    for poll in index.history.polls:
        highest: dict[int, int] = {}
        for seen in poll.records:
            highest[seen.partition] = max(highest.get(seen.partition, -1), seen.offset)
        for partition, offset in highest.items():
            marks[partition].append((poll.returned, offset + 1, "a poll"))
    for send in index.history.sends:
        offsets = [r.offset for r in send.records if r.outcome is Outcome.OK]
        known = [offset for offset in offsets if offset is not None]
        if known:
            marks[send.partition].append((send.returned, max(known) + 1, "an acknowledgement"))
    for list_ in marks.values():
        list_.sort()
    return marks
