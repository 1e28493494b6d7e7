"""What the sink says of a batch that it can neither take nor recognize as a repetition."""

from pathlib import Path

import pytest

from streamlog.errors import FencedError
from streamlog.spark.sink.exactly.checkpoint import Checkpoint
from streamlog.spark.sink.exactly.record import BatchRecord, Part, PartitionPlan
from streamlog.spark.sink.exactly.repetition import check_fit
from streamlog.spark.sink.exactly.stage import StagedRows

QUERY = "4c1f"
PLAN = 'v1\n{"batchTimestampMs":7}\n{"orders":{"0":120}}'


def committed(batch: int) -> BatchRecord:
    """A record of a batch with three rows."""
    partition = PartitionPlan("out", "staged", 0, 0, 0, 3, (Part(1, 0, 2, 3),))
    return BatchRecord(batch, None, "driver", 1, 0, {"out": "staged"}, (partition,), PLAN)


def staged(records: int) -> StagedRows:
    """The rows of a batch."""
    parts = {("staged", 0): Part(2, 3, 2 + records, records)}
    return StagedRows(QUERY, {"out": "staged"}, parts)


def checkpoint(folder: Path) -> Checkpoint:
    """A checkpoint that this process can read, with the plan of batch 7."""
    (folder / "offsets").mkdir()
    (folder / "metadata").write_text(f'{{"id":"{QUERY}"}}')
    (folder / "offsets" / "7").write_text(PLAN.replace("120", "130"))
    return Checkpoint(str(folder), QUERY)


def test_a_repetition_with_other_rows_in_an_object_store_names_the_file_that_ends_it() -> None:
    away = Checkpoint("s3://bucket/checkpoint", QUERY)
    check_fit(committed(7), 7, [staged(3)], away)
    with pytest.raises(FencedError) as raised:
        check_fit(committed(7), 7, [staged(5)], away)
    said = str(raised.value)
    assert "batch 7 was committed with 3 instead of 5 rows for topic 'out'" in said
    assert "mark it as done by a file commits/7 in the checkpoint" in said


def test_a_batch_with_other_offsets_is_not_to_be_marked_as_done(tmp_path: Path) -> None:
    with pytest.raises(FencedError, match="other source offsets than offsets/7") as raised:
        check_fit(committed(7), 7, [staged(5)], checkpoint(tmp_path))
    assert "commits/7" not in str(raised.value)
