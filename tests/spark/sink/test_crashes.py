"""Each record of a batch is published once, whatever step the driver crashes at."""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from threading import Barrier, Thread
from typing import Any

import pytest

import streamlog
from py.support.broker import BrokerProcess
from spark.sink.query import Crash, Query, counted, counted_by_confluent, values_of
from streamlog._core.republishing import new_identity, republish
from streamlog.errors import FencedError, RequestTimeout, StreamlogError
from streamlog.spark.sink import rows
from streamlog.spark.sink.exactly import commit, publication
from streamlog.spark.sink.exactly.commit import Commit
from streamlog.spark.sink.exactly.commit_log import CommitLog, commit_topic
from streamlog.spark.sink.exactly.delivery import COPIERS
from streamlog.spark.sink.exactly.publication import Step
from streamlog.spark.sink.exactly.record import BatchRecord, PartitionPlan
from streamlog.spark.sink.exactly.staging import staging_topic

Start = Callable[..., Query]


@pytest.fixture
def start(broker: BrokerProcess, topic: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts drivers of a query with small record batches, which are copied one by one."""
    monkeypatch.setattr(rows, "_BATCH_BYTES", 400)
    monkeypatch.setattr(publication, "_BATCHES_AT_ONCE", 1)
    drivers = []

    def start(target: str = topic) -> Query:
        drivers.append(Query(broker.address, f"query-of-{topic}", target))
        return drivers[-1]

    yield start
    for driver in drivers:
        driver.close()


def test_a_crash_at_every_step_publishes_each_record_once(
    start: Start, client: streamlog.Client, broker: BrokerProcess, topic: str
) -> None:
    client.admin.create_topic(topic, partitions=2)
    has_crashed = True
    batch = -1
    while has_crashed:
        batch += 1
        values = values_of(batch, 60)
        query = start()
        try:
            query.commit(batch, query.staged(values), crash_at=batch)
            has_crashed = False
        except Crash:
            again = start()
            again.commit(batch, again.staged(values))
    assert batch >= 5
    expected = Counter(value for number in range(batch + 1) for value in values_of(number, 60))
    assert counted(client, topic) == expected
    assert counted_by_confluent(broker.address, topic) == expected


@pytest.mark.parametrize("seed", range(int(os.environ.get("STREAMLOG_SEEDS", "4"))))
def test_crashes_at_random_steps_publish_each_record_once(
    seed: int, start: Start, client: streamlog.Client, broker: BrokerProcess, topic: str
) -> None:
    seed = int(os.environ.get("STREAMLOG_SEED", seed))
    print(f"STREAMLOG_SEED={seed}")
    random = Random(seed)
    client.admin.create_topic(topic, partitions=random.randint(1, 3))
    expected: Counter[bytes] = Counter()
    crashes = 0
    for batch in range(6):
        values = values_of(batch, random.randrange(120))
        crashes += start().run(batch, values, random)
        expected.update(values)
        if batch == 3:
            parts = client.topic(topic).partitions()
            client.admin.set_partitions(topic, parts + 1)
    assert counted(client, topic) == expected, f"seed {seed}, {crashes} crashes"
    assert counted_by_confluent(broker.address, topic) == expected, f"seed {seed}"


def test_readers_see_a_part_of_a_half_published_batch_and_later_the_rest(
    start: Start, client: streamlog.Client, broker: BrokerProcess, topic: str
) -> None:
    client.admin.create_topic(topic, partitions=1)
    values = values_of(0, 100)
    query = start()
    with pytest.raises(Crash, match=str(Step.COPIED)):
        query.commit(0, query.staged(values, tasks=1), crash_at=2)
    seen = counted(client, topic)
    assert 0 < seen.total() < 100
    assert counted_by_confluent(broker.address, topic) == seen
    again = start()
    again.commit(0, again.staged(values, tasks=1))
    assert counted(client, topic) == Counter(values)
    read = [message.value for message in client.topic(topic).partition(0).read()]
    assert read == values
    assert counted_by_confluent(broker.address, topic) == Counter(values)


def test_nothing_is_seen_of_a_batch_that_is_not_committed(
    start: Start, client: streamlog.Client, topic: str
) -> None:
    client.admin.create_topic(topic, partitions=2)
    query = start()
    with pytest.raises(Crash):
        query.commit(0, query.staged(values_of(0, 50)), crash_at=0)
    assert counted(client, topic) == Counter()
    query.commit(0, query.staged(values_of(1, 50)))
    assert counted(client, topic) == Counter(values_of(1, 50))


def test_a_batch_that_is_replayed_adds_nothing(
    start: Start, client: streamlog.Client, topic: str
) -> None:
    client.admin.create_topic(topic, partitions=2)
    query = start()
    for batch in range(3):
        query.run(batch, values_of(batch, 20))
        query.run(batch, values_of(batch, 20))
    expected = Counter(value for batch in range(3) for value in values_of(batch, 20))
    assert counted(client, topic) == expected


def test_published_batches_are_deleted_where_they_are_staged_once_they_are_many(
    start: Start, client: streamlog.Client, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.admin.create_topic(topic, partitions=2)
    query = start()
    staged = staging_topic(query.name, topic)
    monkeypatch.setattr(commit, "_LEFTOVER_BYTES", 3000)
    kept = []
    for batch in range(8):
        query.staged(values_of(99, 20))
        query.run(batch, values_of(batch, 20))
        begins, ends = client.admin.begin_offsets(staged), client.admin.end_offsets(staged)
        kept.append(sum((ends[part] or 0) - (begins[part] or 0) for part in ends))
        log = client.topic(commit_topic(query.name)).partition(0)
        assert log.end_offset() - log.begin_offset() == 1
    assert kept.count(0) >= 2, kept
    assert kept.count(0) < 8, kept
    assert counted(client, topic).total() == 160


def test_of_two_drivers_at_once_one_is_fenced_and_each_record_is_published_once(
    start: Start,
    client: streamlog.Client,
    broker: BrokerProcess,
    topic: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client.admin.create_topic(topic, partitions=2)
    meeting = Barrier(2, timeout=100)
    append = CommitLog.append

    def append_at_once(log: CommitLog, record: BatchRecord) -> int:
        if record.batch == 0:
            meeting.wait()
        return append(log, record)

    def drive(query: Query) -> list[FencedError]:
        fenced = []
        for batch in range(8):
            try:
                query.commit(batch, query.staged(values_of(batch, 60)))
            except FencedError as error:
                fenced.append(error)
        return fenced

    monkeypatch.setattr(CommitLog, "append", append_at_once)
    with ThreadPoolExecutor(2) as drivers:
        ends = [drivers.submit(drive, start()) for _ in range(2)]
        fenced = [error for end in ends for error in end.result(200)]
    assert sum("has committed batch 0" in str(error) for error in fenced) == 1, fenced
    last = start()
    last.run(7, values_of(7, 60))
    expected = Counter(value for batch in range(8) for value in values_of(batch, 60))
    assert counted(client, topic) == expected, fenced
    assert counted_by_confluent(broker.address, topic) == expected


def test_the_clients_of_a_driver_copy_their_shares_at_the_same_time(
    start: Start, client: streamlog.Client, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.admin.create_topic(topic, partitions=3)
    meeting = Barrier(COPIERS, timeout=100)
    shares: list[set[int]] = []

    def copy_at_once(
        copier: streamlog.Client, rows: list[tuple[Any, ...]], most: int, patience: float
    ) -> list[int]:
        meeting.wait()
        shares.append({row[2] for row in rows})
        return republish(copier, rows, most, patience)

    monkeypatch.setattr(publication, "_BATCHES_AT_ONCE", 1 << 62)
    monkeypatch.setattr(publication, "republish", copy_at_once)
    start().run(0, values_of(0, 300))
    assert sorted(shares, key=len) == [{1}, {0, 2}]
    assert counted(client, topic) == Counter(values_of(0, 300))


@pytest.mark.parametrize("failing", range(COPIERS))
def test_a_share_that_fails_is_copied_by_the_repetition(
    failing: int,
    start: Start,
    client: streamlog.Client,
    topic: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client.admin.create_topic(topic, partitions=COPIERS)
    values = values_of(0, 300)
    meeting = Barrier(COPIERS, timeout=100)

    def fail(
        copier: streamlog.Client, rows: list[tuple[Any, ...]], most: int, patience: float
    ) -> list[int]:
        meeting.wait()
        if rows[0][2] == failing:
            raise RequestTimeout("no answer")
        return republish(copier, rows, most, patience)

    monkeypatch.setattr(publication, "_BATCHES_AT_ONCE", 1 << 62)
    query = start()
    with monkeypatch.context() as broken:
        broken.setattr(publication, "republish", fail)
        with pytest.raises(RequestTimeout):
            query.commit(0, query.staged(values))
    # The other share has ended before the error was raised.
    ends = client.admin.end_offsets(topic)
    assert ends[failing] == 0
    assert ends[1 - failing]
    query.commit(0, query.staged(values))
    assert counted(client, topic) == Counter(values)


@pytest.mark.parametrize("batch", [0, 1], ids=["staged_deleted", "staged_kept"])
def test_a_driver_that_is_overtaken_in_mid_copy_finds_the_batch_published(
    batch: int, start: Start, client: streamlog.Client, topic: str
) -> None:
    client.admin.create_topic(topic, partitions=2)
    slow, quick = start(), start()
    for before in range(batch):
        slow.run(before, values_of(before, 60))
    values = values_of(batch, 400)
    steps = []

    def overtaken(step: Step) -> None:
        steps.append(step)
        if steps.count(Step.COPIED) == 1 and step is Step.COPIED:
            quick.commit(batch, quick.staged(values))

    Commit([client], slow.name, overtaken).batch(batch, slow.staged(values))
    assert steps.count(Step.COPIED) > 1, "nothing was left to copy"
    expected = [value for before in range(batch) for value in values_of(before, 60)]
    assert counted(client, topic) == Counter(expected + values)


def test_a_query_continues_though_retention_deleted_its_finished_records(
    start: Start, client: streamlog.Client, topic: str
) -> None:
    client.admin.create_topic(topic, partitions=1)
    for batch in range(2):
        start().run(batch, values_of(batch, 20))
    with client.producer() as producer:
        producer.send(topic, b"of another")
    client.admin.delete_records(topic, 0, before=41)
    start().run(2, values_of(2, 20))
    assert counted(client, topic) == Counter(values_of(2, 20))


def test_staged_records_that_somebody_deleted_are_missed(
    start: Start, client: streamlog.Client, topic: str
) -> None:
    client.admin.create_topic(topic, partitions=1)
    query = start()
    with pytest.raises(Crash):
        query.commit(0, query.staged(values_of(0, 60)), crash_at=1)
    staged = staging_topic(query.name, topic)
    client.admin.delete_records(staged, 0, before=1)
    again = start()
    with pytest.raises(StreamlogError, match="staged records are gone"):
        again.commit(0, again.staged(values_of(0, 60)))


def test_a_driver_whose_record_is_second_is_fenced(
    start: Start, client: streamlog.Client, topic: str
) -> None:
    client.admin.create_topic(topic, partitions=1)
    query = start()
    query.run(0, values_of(0, 10))
    log = CommitLog(client, query.name)
    last = log.last()
    assert last is not None
    offset, record = last
    plans = tuple(
        PartitionPlan(plan.target, plan.staged, plan.partition, 10, 0, 0)
        for plan in record.partitions
    )
    one, other = (
        BatchRecord(1, offset, writer, record.producer, record.epoch, {}, plans)
        for writer in ("one", "other")
    )
    log.append(one)
    with pytest.raises(FencedError, match="another driver of this query has committed batch 1"):
        log.append(other)
    assert log.last() == (offset + 1, one)


def test_sequence_numbers_go_on_at_zero_in_the_middle_of_a_batch(
    start: Start, client: streamlog.Client, broker: BrokerProcess, topic: str
) -> None:
    client.admin.create_topic(topic, partitions=1)
    query = start()
    producer, epoch = new_identity(client)
    plan = PartitionPlan(topic, "", 0, 2**31 - 30, 0, 0)
    CommitLog(client, query.name).append(
        BatchRecord(0, None, "long ago", producer, epoch, {}, (plan,))
    )
    values = values_of(1, 100)
    for crash_at in (2, 1, 3):
        with pytest.raises(Crash):
            query.commit(1, query.staged(values, tasks=1), crash_at)
    query.run(1, values)
    query.run(2, values_of(2, 10))
    expected = Counter(values + values_of(2, 10))
    assert counted(client, topic) == expected
    assert counted_by_confluent(broker.address, topic) == expected


def test_a_batch_that_was_published_needs_its_staging_topic_no_more(
    start: Start, client: streamlog.Client, topic: str
) -> None:
    client.admin.create_topic(topic, partitions=1)
    query = start()
    query.run(0, values_of(0, 10))
    client.admin.delete_topic(staging_topic(query.name, topic))
    query = start()
    query.run(1, values_of(1, 10))
    assert counted(client, topic) == Counter(values_of(0, 10) + values_of(1, 10))


def test_a_committed_batch_whose_staged_records_are_gone_stops_the_query(
    start: Start, client: streamlog.Client, topic: str
) -> None:
    client.admin.create_topic(topic, partitions=1)
    query = start()
    with pytest.raises(Crash):
        query.commit(0, query.staged(values_of(0, 100)), crash_at=2)
    client.admin.delete_topic(staging_topic(query.name, topic))
    with pytest.raises(StreamlogError, match="staged records"):
        query.commit(0, query.staged(values_of(0, 100)))


def test_a_target_that_lost_what_followed_a_commit_stops_the_query(
    start: Start, client: streamlog.Client, topic: str
) -> None:
    client.admin.create_topic(topic, partitions=1)
    query = start()
    query.run(0, values_of(0, 10))
    with pytest.raises(Crash):
        query.commit(1, query.staged(values_of(1, 100)), crash_at=1)
    with client.producer() as producer:
        producer.send(topic, b"of another")
    client.admin.delete_records(topic, 0, before=11)
    with pytest.raises(StreamlogError, match="retention deleted what was there"):
        query.commit(1, query.staged(values_of(1, 100)))
    client.admin.delete_topic(topic)
    client.admin.create_topic(topic, partitions=1)
    with pytest.raises(StreamlogError, match="recreated"):
        query.commit(1, query.staged(values_of(1, 100)))


def test_a_commit_waits_for_a_broker_that_was_killed(
    tmp_path: Path, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "_BATCH_BYTES", 400)
    with BrokerProcess(tmp_path / "data") as broker, streamlog.connect(broker.address) as client:
        client.admin.create_topic(topic, partitions=2)
        query = Query(broker.address, "query", topic)
        expected: Counter[bytes] = Counter()
        for batch in range(3):
            values = values_of(batch, 3000)
            staged = query.staged(values)
            committing = Thread(target=query.commit_as_spark_does, args=(batch, staged))
            broker.kill()
            committing.start()
            broker.start()
            committing.join(100)
            assert not committing.is_alive()
            expected.update(values)
        assert counted(client, topic) == expected
        query.close()


def test_a_broker_killed_in_the_middle_of_copies_stores_each_record_once(
    tmp_path: Path, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "_BATCH_BYTES", 400)
    random = Random(7)
    with BrokerProcess(tmp_path / "data") as broker, streamlog.connect(broker.address) as client:
        client.admin.create_topic(topic, partitions=3)
        query = Query(broker.address, "query", topic)
        expected: Counter[bytes] = Counter()
        for batch in range(4):
            values = values_of(batch, 5000)
            staged = query.staged(values)
            committing = Thread(target=query.commit_as_spark_does, args=(batch, staged))
            committing.start()
            committing.join(random.uniform(0, 0.4))
            broker.kill()
            broker.start()
            committing.join(100)
            assert not committing.is_alive()
            expected.update(values)
        assert counted(client, topic) == expected
        assert counted_by_confluent(broker.address, topic) == expected
        query.close()


def test_a_batch_may_go_to_many_topics_and_later_ones_to_others(
    start: Start, client: streamlog.Client, topic: str
) -> None:
    names = [f"{topic}-{number}" for number in range(2)]
    for name in names:
        client.admin.create_topic(name, partitions=2)
    for batch in range(4):
        start(names[batch % 2]).run(batch, values_of(batch, 30), Random(batch))
    for number, name in enumerate(names):
        expected = values_of(number, 30) + values_of(number + 2, 30)
        assert counted(client, name) == Counter(expected)


def test_a_topic_that_takes_only_small_batches_gets_all_of_a_large_one(
    broker: BrokerProcess, client: streamlog.Client, topic: str
) -> None:
    client.admin.create_topic(topic, partitions=1, config={"max.message.bytes": "2000"})
    query = Query(broker.address, f"query-of-{topic}", topic)
    values = values_of(0, 1000)
    query.run(0, values)
    query.close()
    assert counted(client, topic) == Counter(values)


def test_commits_and_staged_records_are_on_disk_whatever_the_brokers_settings(
    tmp_path: Path, topic: str
) -> None:
    caching = ("--set", "write.caching=true")
    with (
        BrokerProcess(tmp_path / "data", *caching) as broker,
        streamlog.connect(broker.address) as client,
    ):
        client.admin.create_topic(topic, partitions=1)
        query = Query(broker.address, "query", topic)
        query.run(0, values_of(0, 10))
        query.close()
        names = (topic, staging_topic("query", topic), commit_topic("query"))
        found = [client.admin.settings(topic=name)["write.caching"].value for name in names]
        assert found == ["true", "false", "false"]


def test_a_batch_is_finished_where_offsets_count_bytes(
    start: Start, client: streamlog.Client, topic: str
) -> None:
    client.admin.create_topic(topic, partitions=1, config={"offset.unit": "byte"})
    values = values_of(0, 100)
    for crash_at in (3, 2, 3):
        query = start()
        with pytest.raises(Crash):
            query.commit(0, query.staged(values, tasks=1), crash_at)
    query.run(0, values)
    read = [message.value for message in client.topic(topic).partition(0).read()]
    assert read == values
