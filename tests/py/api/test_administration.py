"""Administration from Python: topics, settings, groups, the cluster."""

from datetime import timedelta

import pytest

import streamlog

Client = streamlog.Client


@pytest.fixture
def topic(streamlog_client: Client, streamlog_topic: str) -> str:
    """A topic with two partitions of ten records each."""
    streamlog_client.admin.create_topic(streamlog_topic, partitions=2)
    with streamlog_client.producer() as producer:
        for number in range(20):
            producer.send(streamlog_topic, b"%d" % number, partition=number % 2)
    return streamlog_topic


def test_a_topic_is_described_and_grows(
    streamlog_client: Client, streamlog_broker: streamlog.Broker, topic: str
) -> None:
    described = streamlog_client.topic(topic).describe()
    assert described == streamlog_client.admin.topic(topic)
    assert (described.name, described.is_internal) == (topic, False)
    (cluster_broker,) = streamlog_client.admin.cluster().brokers
    assert cluster_broker.address == streamlog_broker.address
    for number, partition in enumerate(described.partitions):
        assert partition.partition == number
        assert partition.leader == cluster_broker.id
        assert partition.replicas == partition.isr == [cluster_broker.id]
    streamlog_client.admin.set_partitions(topic, 5)
    assert streamlog_client.topic(topic).partitions() == 5
    with pytest.raises(streamlog.BrokerError, match="INVALID_PARTITIONS"):
        streamlog_client.admin.set_partitions(topic, 3)
    with pytest.raises(streamlog.TopicNotFound):
        streamlog_client.admin.topic("nowhere")


def test_settings_are_read_set_and_reset(streamlog_client: Client, topic: str) -> None:
    admin = streamlog_client.admin
    before = admin.settings(topic=topic)["retention.ms"]
    admin.set_settings({"retention.ms": 1000}, topic=topic, dry_run=True)
    assert admin.settings(topic=topic)["retention.ms"] == before
    admin.set_settings({"retention.ms": 1000}, topic=topic)
    assert admin.settings(topic=topic)["retention.ms"].value == "1000"
    admin.set_settings({"retention.ms": None}, topic=topic)
    assert admin.settings(topic=topic)["retention.ms"] == before
    with pytest.raises(streamlog.BrokerError, match=r"retention\.mss"):
        admin.set_settings({"retention.mss": 1}, topic=topic)
    assert admin.settings(broker=admin.cluster().brokers[0].id)
    with pytest.raises(streamlog.ConfigError, match="topic: given with broker="):
        admin.settings(topic=topic, broker=1)


def test_records_are_deleted_up_to_an_offset(streamlog_client: Client, topic: str) -> None:
    assert streamlog_client.admin.delete_records(topic, 0, 4) == 4
    assert streamlog_client.topic(topic).begin_offsets() == {0: 4, 1: 0}


def test_a_group_is_listed_described_reset_and_deleted(
    streamlog_client: Client, topic: str
) -> None:
    admin = streamlog_client.admin
    group = admin.group(f"group-of-{topic}")
    with streamlog_client.consumer(topic, group=group.name) as consumer:
        assert len(list(consumer.until_end())) == 20
        described = group.describe()
        assert (described.name, described.state) == (group.name, "Stable")
        (member,) = described.members
        assert member.client_id == "streamlog"
        assert sorted(member.partitions) == [(topic, 0), (topic, 1)]
        with pytest.raises(streamlog.BrokerError, match="has members"):
            group.reset(topic, to="earliest")
    assert group.name in admin.groups()
    assert group.committed() == {(topic, 0): 10, (topic, 1): 10}
    assert set(group.lag().values()) == {0}

    planned = group.reset(topic, to="earliest", dry_run=True)
    assert [(row.partition, row.before, row.after) for row in planned] == [(0, 10, 0), (1, 10, 0)]
    assert set(group.lag().values()) == {0}
    assert group.reset([topic], to=timedelta(days=-1)) == planned
    assert set(group.lag().values()) == {10}
    group.reset(topic, to=7)
    with streamlog_client.consumer(topic, group=group.name) as consumer:
        assert len(list(consumer.until_end())) == 6

    group.delete()
    assert group.name not in admin.groups()
    group.delete(missing_ok=True)
    with pytest.raises(streamlog.BrokerError, match="GROUP_ID_NOT_FOUND"):
        group.delete()


def test_results_by_partition_are_sorted(streamlog_client: Client, streamlog_topic: str) -> None:
    places = [(streamlog_topic, partition) for partition in range(12)]
    streamlog_client.admin.create_topic(streamlog_topic, partitions=12)
    group = streamlog_client.admin.group(f"group-of-{streamlog_topic}")
    with streamlog_client.consumer(streamlog_topic, group=group.name) as consumer:
        assert not list(consumer.until_end())
        assert consumer.assignment() == places
        assert list(consumer.positions()) == places
        assert list(consumer.lag()) == places
    group.commit(dict.fromkeys(reversed(places), 0))
    assert list(group.committed()) == places
    assert list(group.lag()) == places
