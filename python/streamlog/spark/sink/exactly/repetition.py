"""The check that a batch fits the commit log of its query.

After a crash, Spark repeats a batch under its number, and the sink drops the rows, because they are
published. A checkpoint that was put back, copied or edited gives a published number to other rows:
dropping them would lose them silently.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence

from streamlog.errors import FencedError
from streamlog.spark.reading.offsets import nested
from streamlog.spark.sink.exactly.checkpoint import Checkpoint, ranges_of
from streamlog.spark.sink.exactly.record import BatchRecord
from streamlog.spark.sink.exactly.stage import StagedRows
from streamlog.spark.streaming.mark import Mark

__all__ = ["check_fit"]

_CAUSES = (
    "the checkpoint was put back, copied or edited, or another driver runs the same query. None of "
    "these rows was published"
)
_LONGEST = 1000
"""The limit of offsets in a message in characters; beyond it they are only referred to."""


def check_fit(
    last: BatchRecord, number: int, rows: Sequence[StagedRows], checkpoint: Checkpoint
) -> None:
    """Checks a batch against the last one in the commit log.

    Args:
        last: The last committed batch.
        number: The number of the batch.
        rows: Its staged rows.
        checkpoint: The checkpoint of the query.

    Raises:
        FencedError: The last batch has a greater number, or the same number and other rows, or the
            checkpoint has other source offsets for it.
    """
    if last.batch > number:
        raise FencedError(
            f"batch {number} comes after batch {last.batch}, the last in the query's commit log: "
            f"{_CAUSES}. Continue with the checkpoint that has batch {last.batch}, or {_anew(last)}"
        )
    plan = checkpoint.plan_of(last.batch)
    differences = [*_other_ranges(last, plan)]
    if last.batch == number:
        differences += _other_rows(last, plan, rows)
    if differences:
        raise FencedError(
            f"batch {last.batch} was committed with {', and '.join(differences)}: {_CAUSES}. "
            "Continue with the checkpoint and the topics of the committed batch. A copied "
            f"checkpoint is the same query: for another target, or without that one, {_anew(last)}"
            f"{_as_done(last) if last.batch == number and plan is None else ''}"
        )


def _other_ranges(last: BatchRecord, plan: str | None) -> Iterator[str]:
    if last.plan is None or plan is None or ranges_of(last.plan) == ranges_of(plan):
        return
    yield f"other source offsets than offsets/{last.batch} in the checkpoint"


def _other_rows(last: BatchRecord, plan: str | None, rows: Sequence[StagedRows]) -> Iterator[str]:
    was, now = _committed(last), _staged(rows)
    is_same_plan = plan is not None and plan == last.plan
    known = {partition.target for partition in last.partitions}
    for topic in sorted(was.keys() | now.keys()):
        # The rows of the same plan may differ in number, as with rand(). The committed rows are
        # valid for its source offsets. A topic that the query has never written to is of another
        # query with a copy of the checkpoint.
        if was[topic] != now[topic] and not (is_same_plan and (topic in known or not was)):
            yield f"{was[topic]} instead of {now[topic]} rows for topic '{topic}'"


def _committed(last: BatchRecord) -> Counter[str]:
    """Returns the number of a committed batch's rows for each topic."""
    counts: Counter[str] = Counter()
    for plan in last.partitions:
        counts[plan.target] += plan.records
    return +counts


def _staged(rows: Sequence[StagedRows]) -> Counter[str]:
    """Returns the number of staged rows for each topic."""
    targets = {staged: target for row in rows for target, staged in row.topics.items()}
    counts: Counter[str] = Counter()
    for row in rows:
        for (staged, _), part in row.parts.items():
            counts[targets[staged]] += part.records
    return +counts


def _as_done(last: BatchRecord) -> str:
    """Returns the instruction for a repetition that is one, but cannot be recognized.

    Without the plan of the checkpoint, as in an object store, other numbers of rows look the same
    whether they come from other source offsets or from a function such as ``rand()``.
    """
    return (
        f". The file offsets/{last.batch} of the checkpoint cannot be read from here, as in an "
        "object store. If the checkpoint is the right one, and only the query gives other rows "
        "each time, as with rand(), the batch is published: mark it as done by a file "
        f"commits/{last.batch} in the checkpoint, with the content of the one before"
    )


def _anew(last: BatchRecord) -> str:
    """Returns the instruction for a new checkpoint that continues after the published rows."""
    ranges = () if last.plan is None else ranges_of(last.plan)
    starts = " and ".join(f"startingOffsets={_start(text)}" for text in ranges)
    if not 0 < len(starts) <= _LONGEST:
        starts = f"startingOffsets as in offsets/{last.batch} of the checkpoint that has it"
    return f"begin with a new checkpoint after the published rows: {starts}"


def _start(text: str) -> str:
    """Returns the value of the option that starts at the end of a batch in a source."""
    try:
        return json.dumps(nested(Mark.of(json.loads(text)).offsets), separators=(",", ":"))
    except (ValueError, AttributeError, TypeError):
        # The offset of another kind of source.
        return text
