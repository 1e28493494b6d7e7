"""A checkpoint that was put back, copied or edited costs no row without an error."""

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import streamlog
from py.support.broker import BrokerProcess
from spark.reading.rows import PATIENCE, stream
from spark.sink.query import Query, counted, values_of
from streamlog.errors import FencedError
from streamlog.spark import BatchPublisher
from streamlog.spark.sink.exactly.commit_log import CommitLog
from streamlog.spark.sink.exactly.record import BatchRecord


@dataclass(frozen=True)
class Copying:
    """A query that copies a topic of two partitions exactly once, at most 100 rows a batch."""

    spark: SparkSession
    address: str
    client: streamlog.Client
    source: str
    target: str
    checkpoint: Path
    by_executors: bool

    def put(self, first: int, end: int, partition: int = 0) -> None:
        """Publishes a range of numbers."""
        with self.client.producer() as producer:
            for number in range(first, end):
                producer.send(self.source, b"%d" % number, partition=partition)

    def run(
        self,
        checkpoint: Path | None = None,
        target: str | None = None,
        start: str = "earliest",
    ) -> None:
        """Copies the existing records.

        Raises:
            StreamingQueryException: The query has failed.
        """
        target = target or self.target
        read = {"subscribe": self.source, "startingOffsets": start, "maxOffsetsPerTrigger": 100}
        rows = stream(self.spark, self.address, **read)
        writer = rows.select("value").writeStream.trigger(availableNow=True)
        if self.by_executors:
            publisher = BatchPublisher(bootstrap=self.address, topic=target)
            writer = writer.foreachBatch(publisher)
        else:
            options = {"bootstrap": self.address, "topic": target, "exactlyOnce": "true"}
            writer = writer.format("streamlog").options(**options)
        writer = writer.option("checkpointLocation", str(checkpoint or self.checkpoint))
        query = writer.start()
        try:
            assert query.awaitTermination(PATIENCE), "the query does not end"
        finally:
            query.stop()

    def forget(self, batch: int, *folders: str) -> None:
        """Removes files of a batch from the checkpoint, as somebody might by hand."""
        for folder in folders:
            (self.checkpoint / folder / str(batch)).unlink()
            (self.checkpoint / folder / f".{batch}.crc").unlink(missing_ok=True)

    def copied(self) -> Path:
        """Returns a copy of the checkpoint as it is now."""
        return shutil.copytree(self.checkpoint, self.checkpoint.with_name("copy"))

    def numbers(self) -> Counter[bytes]:
        """Returns the rows in the target."""
        return counted(self.client, self.target)


@pytest.fixture
def copying(
    request: pytest.FixtureRequest,
    spark: SparkSession,
    broker: BrokerProcess,
    topic: str,
    tmp_path: Path,
) -> Iterator[Copying]:
    """A query that has copied 200 rows, in the batches 0 and 1."""
    target, checkpoint = f"{topic}-out", tmp_path / "checkpoint"
    by_executors = getattr(request, "param", "driver") == "executors"
    with streamlog.connect(broker.address) as client:
        for name in (topic, target):
            client.admin.create_topic(name, partitions=2)
        copying = Copying(spark, broker.address, client, topic, target, checkpoint, by_executors)
        copying.put(0, 200)
        copying.run()
        yield copying


def numbers(*ends: tuple[int, int]) -> Counter[bytes]:
    """Returns each number of the ranges once."""
    return Counter(b"%d" % number for first, end in ends for number in range(first, end))


def test_a_checkpoint_put_back_is_refused_before_a_row_is_lost(copying: Copying) -> None:
    older = copying.copied()
    copying.put(200, 250)
    copying.run()
    copying.put(250, 300)
    with pytest.raises(StreamingQueryException, match="batch 2 was committed with other source"):
        copying.run(older)
    assert copying.numbers() == numbers((0, 250))
    copying.run()
    assert copying.numbers() == numbers((0, 300))


def test_an_older_checkpoint_is_refused_and_a_new_one_continues_at_the_named_offsets(
    copying: Copying, tmp_path: Path
) -> None:
    older = copying.copied()
    copying.put(200, 500)
    copying.run()
    told = "batch 2 comes after batch 4, the last in the query's commit log"
    with pytest.raises(StreamingQueryException, match=told) as refused:
        copying.run(older)
    assert copying.numbers() == numbers((0, 500))
    start = re.search(r"startingOffsets=(\{.*?\}\})", str(refused.value))
    assert start is not None
    copying.put(500, 550)
    copying.run(tmp_path / "new", start=start[1])
    assert copying.numbers() == numbers((0, 550))


@pytest.mark.parametrize("copying", ["driver", "executors"], indirect=True)
def test_a_batch_of_as_many_rows_from_other_offsets_is_refused(copying: Copying) -> None:
    copying.put(200, 300)
    copying.run()
    copying.put(300, 400, partition=1)
    copying.forget(2, "offsets", "commits")
    with pytest.raises(StreamingQueryException, match=r"other source offsets than offsets/2"):
        copying.run()
    assert copying.numbers() == numbers((0, 300))


def test_a_copied_checkpoint_is_refused_for_another_target(
    copying: Copying, client: streamlog.Client
) -> None:
    copy = copying.copied()
    other = f"{copying.target}-other"
    client.admin.create_topic(other)
    copying.put(200, 300)
    copying.run()
    told = f"100 instead of 0 rows for topic '{copying.target}', and 0 instead of 100"
    with pytest.raises(StreamingQueryException, match=told):
        copying.run(copy, other)
    assert counted(client, other) == Counter()


def test_a_batch_that_is_repeated_or_planned_again_over_the_same_offsets_adds_nothing(
    copying: Copying,
) -> None:
    copying.forget(1, "commits")
    copying.put(200, 300)
    copying.run()
    copying.forget(2, "offsets", "commits")
    copying.put(300, 400)
    copying.run()
    assert copying.numbers() == numbers((0, 400))


def test_a_batch_after_one_that_was_skipped_by_hand_is_refused(copying: Copying) -> None:
    older = copying.copied()
    copying.put(200, 250)
    copying.run()
    copying.put(250, 300)
    with pytest.raises(StreamingQueryException, match="batch 2 was committed"):
        copying.run(older)
    shutil.copy(copying.checkpoint / "commits" / "2", older / "commits" / "2")
    copying.put(300, 350)
    with pytest.raises(StreamingQueryException, match="batch 2 was committed with other source"):
        copying.run(older)
    assert copying.numbers() == numbers((0, 250))


@pytest.fixture
def query(broker: BrokerProcess, client: streamlog.Client, topic: str) -> Query:
    """A query whose checkpoint the driver cannot read, with three published batches."""
    client.admin.create_topic(topic, partitions=2)
    query = Query(broker.address, f"query-of-{topic}", topic)
    for batch in range(3):
        query.run(batch, values_of(batch, 20))
    return query


def test_without_a_readable_checkpoint_the_number_of_rows_counts(
    query: Query, client: streamlog.Client
) -> None:
    query.run(2, values_of(2, 20))
    with pytest.raises(FencedError, match="20 instead of 21 rows for topic"):
        query.run(2, values_of(2, 21))
    with pytest.raises(FencedError, match="20 instead of 0 rows for topic"):
        query.run(2, [])
    for batch in range(2):
        with pytest.raises(FencedError, match=f"batch {batch} comes after batch 2"):
            query.run(batch, values_of(batch, 20))
    expected = [value for batch in range(3) for value in values_of(batch, 20)]
    assert counted(client, query.topic) == Counter(expected)


def test_a_record_of_an_older_version_is_understood(query: Query, client: streamlog.Client) -> None:
    log = CommitLog(client, query.name)
    last = log.last()
    assert last is not None
    fields = json.loads(last[1].encoded())
    assert fields.pop("plan") is None
    old = json.dumps(fields | {"version": 1}).encode()
    assert BatchRecord.decoded(old) == last[1]


def test_the_same_plan_may_give_another_number_of_rows(
    broker: BrokerProcess, client: streamlog.Client, topic: str, tmp_path: Path
) -> None:
    client.admin.create_topic(topic, partitions=2)
    query = Query(broker.address, f"query-of-{topic}", topic)
    query.checkpoint = tmp_path
    (tmp_path / "offsets").mkdir()
    (tmp_path / "metadata").write_text(json.dumps({"id": query.name}))
    plan = tmp_path / "offsets" / "0"
    plan.write_text('v1\n{"batchTimestampMs":1}\n{"orders":{"0":50}}')
    query.run(0, values_of(0, 20))
    query.run(0, values_of(7, 23))
    plan.write_text('v1\n{"batchTimestampMs":2}\n{"orders":{"0":50}}')
    with pytest.raises(FencedError, match="20 instead of 23 rows"):
        query.run(0, values_of(7, 23))
    assert counted(client, topic) == Counter(values_of(0, 20))
