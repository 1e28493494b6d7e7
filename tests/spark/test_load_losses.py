"""Records deleted before they were loaded: an error, or listed and skipped."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import streamlog
from py.support.broker import BrokerProcess
from spark.support.clock import HastyClock
from spark.support.loads import load_here, publish, rows_of_files
from streamlog.spark import load, patience
from streamlog.spark.offline.job import Job, Outcome
from streamlog.spark.offline.ledger import Ledger
from streamlog.spark.offline.loading import Loading
from streamlog.spark.offline.plan import TopicPositions
from streamlog.spark.offline.planning import Choice
from streamlog.spark.offline.writing import write_range
from streamlog.spark.options import Connection
from streamlog.spark.sink.exactly.commit_log import commit_topic
from streamlog.spark.sink.exactly.staging import staging_topic


def offsets(path: Path) -> list[int]:
    """Returns the loaded offsets, in order."""
    return sorted(row[2] for row in rows_of_files(path).elements())


def test_records_deleted_before_their_load_are_an_error_or_listed(
    broker: BrokerProcess, client: streamlog.Client, topic: str, tmp_path: Path
) -> None:
    client.admin.create_topic(topic)
    publish(client, topic, 5)
    load_here(broker.address, tmp_path, [topic])
    publish(client, topic, 5)
    client.admin.delete_records(topic, 0, 7)
    with pytest.raises(streamlog.OffsetOutOfRange) as caught:
        load_here(broker.address, tmp_path, [topic])
    place = f"topic '{topic}' partition 0: offset 5 was requested, the log begins at 7"
    assert str(caught.value).startswith(place)
    assert (caught.value.requested, caught.value.earliest) == (5, 7)
    assert offsets(tmp_path) == list(range(5))
    done = load_here(broker.address, tmp_path, [topic], fail_on_data_loss=False)
    assert [(loss.wanted, loss.earliest) for loss in done.losses] == [(5, 7)]
    assert offsets(tmp_path) == [0, 1, 2, 3, 4, 7, 8, 9]


def test_records_deleted_during_their_load_are_an_error_or_listed(
    spark: SparkSession,
    broker: BrokerProcess,
    client: streamlog.Client,
    topic: str,
    tmp_path: Path,
) -> None:
    client.admin.create_topic(topic)
    publish(client, topic, 10)

    def too_late(job: Job, indexes: Sequence[int]) -> list[Outcome]:
        client.admin.delete_records(topic, 0, 6)
        return [write_range(job, index) for index in indexes]

    loading = Loading(Connection.of(broker.address, {}), Ledger(tmp_path), "zstd", True, 4)
    with pytest.raises(
        streamlog.OffsetOutOfRange, match="offset 0 was requested, the log begins at 6"
    ):
        loading.run(Choice((topic,)), too_late)
    # The plan stays: every load fails until a user decides.
    with pytest.raises(
        streamlog.OffsetOutOfRange, match="offset 0 was requested, the log begins at 6"
    ):
        load(spark, tmp_path, bootstrap=broker.address, subscribe=topic)
    done = load_here(broker.address, tmp_path, [topic], fail_on_data_loss=False)
    assert [loss.wanted for loss in done.losses] == [0, 4]
    assert offsets(tmp_path) == [6, 7, 8, 9]


def test_a_topic_recreated_during_its_load_leaves_no_file_of_the_new_one(
    broker: BrokerProcess, client: streamlog.Client, topic: str, tmp_path: Path
) -> None:
    client.admin.create_topic(topic)
    publish(client, topic, 10)

    def too_late(job: Job, indexes: Sequence[int]) -> list[Outcome]:
        client.admin.delete_topic(topic)
        client.admin.create_topic(topic)
        publish(client, topic, 20)
        return [write_range(job, index) for index in indexes]

    loading = Loading(Connection.of(broker.address, {}), Ledger(tmp_path), "zstd", False, 100)
    done = loading.run(Choice((topic,)), too_late)
    told = f"topic '{topic}' partition 0: offset 0 was requested, the log is gone"
    assert [str(loss) for loss in done.losses] == [f"{told}: the topic was deleted and recreated"]
    assert (done.records, offsets(tmp_path)) == (0, [])


def test_a_topic_deleted_during_its_load_is_a_loss_of_its_records(
    broker: BrokerProcess, client: streamlog.Client, topic: str, tmp_path: Path
) -> None:
    client.admin.create_topic(topic)
    publish(client, topic, 10)

    def too_late(job: Job, indexes: Sequence[int]) -> list[Outcome]:
        client.admin.delete_topic(topic)
        return [write_range(job, index) for index in indexes]

    connection = Connection.of(broker.address, {}, patience=1)
    loading = Loading(connection, Ledger(tmp_path), "zstd", False, 100)
    done = loading.run(Choice((topic,)), too_late)
    told = f"topic '{topic}' partition 0: offset 0 was requested, the log is gone"
    assert [str(loss) for loss in done.losses] == [f"{told}: the topic was deleted"]
    assert done.records == 0


def test_a_recreated_topic_is_another_topic(
    broker: BrokerProcess,
    client: streamlog.Client,
    topic: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(patience, "time", HastyClock())
    client.admin.create_topic(topic)
    publish(client, topic, 5)
    load_here(broker.address, tmp_path, [topic])
    client.admin.delete_topic(topic)
    with pytest.raises(streamlog.TopicNotFound, match=r"was deleted before offset 5 of parti"):
        load_here(broker.address, tmp_path, [topic])
    assert load_here(broker.address, tmp_path, [topic], fail_on_data_loss=False).records == 0
    client.admin.create_topic(topic)
    publish(client, topic, 8)
    with pytest.raises(streamlog.OffsetOutOfRange, match="was deleted and recreated"):
        load_here(broker.address, tmp_path, [topic])
    done = load_here(broker.address, tmp_path, [topic], fail_on_data_loss=False)
    assert (done.records, len(done.losses)) == (8, 1)
    assert offsets(tmp_path) == sorted([*range(5), *range(8)])


def test_a_topic_that_never_was_is_an_error_either_way(
    broker: BrokerProcess, client: streamlog.Client, topic: str, tmp_path: Path
) -> None:
    for fails in (True, False):
        with pytest.raises(
            streamlog.TopicNotFound, match=f"subscribe: there is no topic '{topic}'"
        ):
            load_here(broker.address, tmp_path, [topic], fail_on_data_loss=fails)


def test_a_partition_that_came_later_is_loaded_from_its_first_record(
    broker: BrokerProcess, client: streamlog.Client, topic: str, tmp_path: Path
) -> None:
    client.admin.create_topic(topic)
    publish(client, topic, 4)
    load_here(broker.address, tmp_path, [topic])
    client.admin.set_partitions(topic, 2)
    with client.producer() as producer:
        for number in range(6):
            producer.send(topic, b"%d" % number, partition=1)
    client.admin.delete_records(topic, 1, 2)
    with pytest.raises(streamlog.OffsetOutOfRange, match="partition 1: offset 0 was requested"):
        load_here(broker.address, tmp_path, [topic])
    assert load_here(broker.address, tmp_path, [topic], fail_on_data_loss=False).records == 4


def test_a_pattern_never_matches_internal_topics_of_a_query(
    client: streamlog.Client, topic: str
) -> None:
    kept = (staging_topic(topic, topic), commit_topic(topic))
    for name in (topic, *kept):
        client.admin.create_topic(name)
    planned = {name: TopicPositions("of an earlier load") for name in kept}
    chosen = Choice.of(None, f".*{topic}.*").topics(client, planned)
    assert chosen == [topic]
    assert Choice.of(kept[0], None).topics(client, {}) == [kept[0]]
