"""Topics as streams: each record once, in triggers within their limits."""

import json
from pathlib import Path
from threading import Event, Thread

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryProgress

import streamlog
from py.support.broker import BrokerProcess, until
from spark.reading.rows import PATIENCE, Collected, Streamed, fill, published, read, stream
from streamlog.errors import ConfigError
from streamlog.spark import PartitionProgress, ProgressListener, partition_progress
from streamlog.spark.streaming.mark import Mark


def test_triggers_take_no_more_than_they_may_and_a_group_shows_how_far_it_is(
    streamed: Streamed,
) -> None:
    streamed.fill(1000)
    topic = streamed.topic
    group = streamed.client.admin.group(f"of-{topic}")
    options = {"maxOffsetsPerTrigger": 400, "group": group.name}
    got = streamed.drain(Collected(), **options)
    assert got.sizes() == [400, 400, 200]
    assert read(got.rows) == streamed.published()
    assert group.lag() == {(topic, 0): 0, (topic, 1): 0}
    streamed.fill(10)
    assert group.lag() == {(topic, 0): 5, (topic, 1): 5}
    again = streamed.drain(Collected(), **options)
    assert read([*got.rows, *again.rows]) == streamed.published()
    assert again.sizes() == [10]
    offsets = json.loads((streamed.folder / "offsets" / "0").read_text().splitlines()[-1])
    assert Mark.of(offsets).offsets == {(topic, 0): 200, (topic, 1): 200}


def test_a_failed_trigger_is_repeated_with_the_same_records(streamed: Streamed) -> None:
    streamed.fill(300)
    got = Collected()

    def stumble(trigger: int) -> None:
        if trigger == 1 and not got.again:
            streamed.fill(100)
            raise RuntimeError("the sink fails")

    got.before = stumble
    with pytest.raises(StreamingQueryException, match="the sink fails"):
        streamed.drain(got, maxOffsetsPerTrigger=100)
    streamed.drain(got, maxOffsetsPerTrigger=100)
    assert sorted(got.again) == [1]
    assert read(got.again[1]) == read(got.triggers[1])
    assert read(got.rows) == streamed.published()


def test_a_failed_first_trigger_is_repeated_from_its_start(streamed: Streamed) -> None:
    streamed.fill(100)
    group = streamed.client.admin.group(f"of-{streamed.topic}")
    group.commit({(streamed.topic, 0): 20, (streamed.topic, 1): 30})
    got = Collected()

    def stumble(trigger: int) -> None:
        if trigger == 0 and not got.again:
            streamed.fill(100)
            group.commit({(streamed.topic, 0): 90, (streamed.topic, 1): 40})
            raise RuntimeError("the sink fails")

    got.before = stumble
    start = f"group:{group.name}"
    with pytest.raises(StreamingQueryException, match="the sink fails"):
        streamed.drain(got, startingOffsets=start)
    assert not (streamed.folder / "commits" / "0").exists()
    streamed.drain(got, startingOffsets=start)
    assert sorted(got.again) == [0]
    assert read(got.again[0]) == read(got.triggers[0])
    skipped = {(streamed.topic, 0, n) for n in range(20)}
    skipped |= {(streamed.topic, 1, n) for n in range(30)}
    expected = {row: n for row, n in streamed.published().items() if row[:3] not in skipped}
    assert read(got.rows) == expected


def test_an_available_now_query_may_start_at_the_end_while_the_topic_grows(
    streamed: Streamed,
) -> None:
    streamed.fill(10)
    end = Event()

    def grow() -> None:
        while not end.wait(0.01):
            streamed.fill(2)

    producing = Thread(target=grow)
    producing.start()
    try:
        first = streamed.drain(Collected(), startingOffsets="latest")
    finally:
        end.set()
        producing.join()
    assert min((row.offset for row in first.rows), default=5) >= 5
    streamed.fill(2)
    again = streamed.drain(Collected())
    found = read([*first.rows, *again.rows])
    assert found.total() == len(found)
    assert {row.partition for row in again.rows} == {0, 1}


def test_a_stream_begins_at_the_end_by_default_and_goes_on(streamed: Streamed) -> None:
    streamed.fill(50)
    got = Collected()
    reader = streamed.spark.readStream.format("streamlog").option("subscribe", streamed.topic)
    frame = reader.option("kafka.bootstrap.servers", streamed.address).load()
    query = got.start(frame, streamed.folder, available_now=False)
    try:
        # The start of the query is stored once its first trigger is finished.
        until((streamed.folder / "commits" / "0").exists, PATIENCE)
        for number in range(3):
            with streamed.client.producer() as producer:
                producer.send(streamed.topic, b"later %d" % number)
            until(lambda wanted=number + 1: len(got.rows) == wanted, PATIENCE)
        progress = query.lastProgress
        assert progress is not None
        source = progress.sources[0]
        end = Mark.of(json.loads(source.endOffset))
        assert Mark.of(json.loads(source.latestOffset)).offsets == end.offsets
    finally:
        query.stop()
    assert sorted(bytes(row.value) for row in got.rows) == [b"later 0", b"later 1", b"later 2"]


def test_topics_and_partitions_that_come_later_are_read_from_their_beginning(
    streamed: Streamed,
) -> None:
    client = streamed.client
    names = [f"{streamed.topic}-a", f"{streamed.topic}-b"]
    fill(client, names[0], 20, partitions=1)
    got = Collected()
    pattern = f"{streamed.topic}-."
    with streamed.running(got, subscribePattern=pattern, startingOffsets="latest"):
        until((streamed.folder / "commits" / "0").exists, PATIENCE)
        fill(client, names[1], 30)
        client.admin.set_partitions(names[0], 2)
        with client.producer() as producer:
            producer.send(names[0], b"later", partition=1)
        until(lambda: len(got.rows) >= 31, PATIENCE)
    old = {(names[0], 0, offset) for offset in range(20)}
    expected = {row: n for row, n in published(client, *names).items() if row[:3] not in old}
    assert read(got.rows) == expected


def test_too_little_waits_until_it_is_enough(streamed: Streamed) -> None:
    streamed.fill(100)
    got = Collected()
    with streamed.running(got, minOffsetsPerTrigger=60, maxTriggerDelay="1h"):
        until(lambda: got.sizes() == [100], PATIENCE)
        streamed.fill(30)
        streamed.fill(30)
        until(lambda: sum(got.sizes()) == 160, PATIENCE)
    assert got.sizes() == [100, 60]
    assert read(got.rows) == streamed.published()


def test_triggers_hold_about_as_many_bytes_as_they_may(streamed: Streamed) -> None:
    streamed.client.admin.create_topic(streamed.topic, partitions=2)
    with streamed.client.producer() as producer:
        producer.send_all(streamed.topic, [b"x" * 1000] * 600)
    got = streamed.drain(Collected(), maxBytesPerTrigger="200k")
    assert read(got.rows) == streamed.published()
    sizes = [sum(len(row.value) for row in rows) for rows in got.triggers.values() if rows]
    assert len(sizes) in (3, 4)
    assert max(sizes) <= 1.1 * (200 << 10)


def test_every_trigger_is_reported_by_partition(
    spark: SparkSession, broker: BrokerProcess, client: streamlog.Client, topic: str, tmp_path: Path
) -> None:
    fill(client, topic, 100)
    told: dict[int, list[PartitionProgress]] = {}

    def tell(progress: StreamingQueryProgress, parts: list[PartitionProgress]) -> None:
        if progress.name == topic:
            told[progress.batchId] = parts

    listener = ProgressListener(tell)
    spark.streams.addListener(listener)
    try:
        reader = spark.readStream.format("streamlog").option("bootstrap", broker.address)
        reader = reader.option("subscribe", topic).option("maxOffsetsPerTrigger", 60)
        rows = reader.option("startingOffsets", f'{{"{topic}":{{"0":10,"1":0}}}}').load()
        writer = rows.writeStream.format("noop").queryName(topic)
        writer = writer.option("checkpointLocation", str(tmp_path))
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(PATIENCE)
        until(lambda: len(told) == 2, PATIENCE)
    finally:
        spark.streams.removeListener(listener)
    first, second = told[0], told[1]
    assert [(part.topic, part.partition) for part in first] == [(topic, 0), (topic, 1)]
    assert [part.start for part in first] == [10, 0]
    assert sum(part.records for part in first) == 60
    assert sum(part.lag for part in first) == 30
    assert [part.start for part in second] == [part.end for part in first]
    assert [(part.end, part.lag) for part in second] == [(50, 0), (50, 0)]
    read = [progress for progress in query.recentProgress if progress.numInputRows]
    assert [partition_progress(progress) for progress in read] == [first, second]


def test_a_trigger_is_reported_with_its_bytes_in_each_partition(
    spark: SparkSession, broker: BrokerProcess, client: streamlog.Client, topic: str, tmp_path: Path
) -> None:
    client.admin.create_topic(topic, partitions=3)
    with client.producer() as producer:
        for _ in range(600):
            headers = [("kind", b"ab")]
            producer.send(topic, b"x" * 90, key=b"12345", headers=headers, partition=0)
        for number in range(6000):
            producer.send(topic, b"x" * (number % 400), partition=1)
    told: list[list[PartitionProgress]] = []

    def tell(progress: StreamingQueryProgress, parts: list[PartitionProgress]) -> None:
        if progress.name == topic:
            told.append(parts)

    listener = ProgressListener(tell, bootstrap=broker.address)
    spark.streams.addListener(listener)
    try:
        frame = stream(spark, broker.address, subscribe=topic)
        writer = frame.writeStream.format("noop").queryName(topic)
        writer = writer.option("checkpointLocation", str(tmp_path))
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(PATIENCE)
        until(lambda: len(told) == 1, PATIENCE)
    finally:
        spark.streams.removeListener(listener)
    few, many, none = told[0]
    # All of a few records are sampled, and some of many.
    assert (few.records, few.bytes) == (600, 600 * (90 + 5 + 4 + 2))
    assert str(few) == f"{topic}-0: 600 records of about 60,600 bytes up to offset 600, lag 0"
    assert many.bytes is not None
    assert abs(many.bytes / (6000 * 199.5) - 1) < 0.2
    assert (none.records, none.bytes) == (0, 0)


def test_bytes_are_unknown_without_brokers_or_records(
    spark: SparkSession, broker: BrokerProcess, client: streamlog.Client, topic: str, tmp_path: Path
) -> None:
    fill(client, topic, 20, partitions=1)
    frame = stream(spark, broker.address, subscribe=topic)
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path))
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(PATIENCE)
    (progress,) = [progress for progress in query.recentProgress if progress.numInputRows]
    client.admin.delete_records(topic, 0, before=20)
    nowhere = {"bootstrap": "127.0.0.1:1", "config": {"request.timeout.ms": "200"}}
    for given in ({}, {"bootstrap": broker.address}, nowhere):
        (part,) = partition_progress(progress, **given)
        assert (part.records, part.bytes) == (20, None)
    with pytest.raises(ConfigError, match=r"did you mean 'client\.id'"):
        ProgressListener(bootstrap=broker.address, config={"cliend.id": "x"})


def test_other_sources_are_omitted(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "one.txt").write_text("1\n")
    rows = spark.readStream.text(str(tmp_path / "in"))
    writer = rows.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "at"))
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(PATIENCE)
    assert [partition_progress(progress) for progress in query.recentProgress] == [[]]
