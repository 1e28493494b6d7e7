"""Administration by third-party tools: topics, partitions, settings, records, disk usage."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    ResourceType,
)
from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaTopicPartition
from kafka.admin import ConfigResource as KafkaConfigResource
from kafka.admin import ConfigResourceType, KafkaAdminClient
from kafka.admin import NewPartitions as KafkaNewPartitions
from kafka.admin import NewTopic as KafkaNewTopic

from py.support.broker import BrokerProcess, until

SECONDS = 20

Futures = dict[Any, Any]


@pytest.fixture
def admin(shared_broker: BrokerProcess) -> AdminClient:
    """The admin client of librdkafka."""
    return AdminClient({"bootstrap.servers": shared_broker.address})


@pytest.fixture
def kafka_admin(shared_broker: BrokerProcess) -> Iterator[KafkaAdminClient]:
    """The admin client of kafka-python."""
    client = KafkaAdminClient(bootstrap_servers=shared_broker.address)
    yield client
    client.close()


def done(futures: Futures) -> list[Any]:
    """Waits for all futures."""
    return [future.result(SECONDS) for future in futures.values()]


def refused(futures: Futures) -> str:
    """Returns the name of the error of the only future."""
    (future,) = futures.values()
    with pytest.raises(KafkaException) as caught:
        future.result(SECONDS)
    error = caught.value.args[0]
    return f"{error.name()}: {error.str()}"


def create(admin: AdminClient, topic: str, partitions: int = 1, **configs: str) -> None:
    """Creates a topic."""
    config = {key.replace("_", "."): value for key, value in configs.items()}
    done(admin.create_topics([NewTopic(topic, partitions, config=config)]))


def partitions_of(admin: AdminClient, topic: str) -> int:
    """Returns the number of partitions of a topic; 0 if it does not exist."""
    return len(admin.list_topics(timeout=SECONDS).topics[topic].partitions)


def settings(admin: AdminClient, kind: ResourceType, name: str) -> dict[str, ConfigEntry]:
    """Returns all settings of a topic or broker."""
    (entries,) = done(admin.describe_configs([ConfigResource(kind, name)]))
    assert isinstance(entries, dict)
    return entries


def change(admin: AdminClient, kind: ResourceType, name: str, *steps: ConfigEntry) -> Futures:
    """Changes settings incrementally."""
    resource = ConfigResource(kind, name, incremental_configs=list(steps))
    return admin.incremental_alter_configs([resource])


def step(name: str, value: str | None, what: AlterConfigOpType) -> ConfigEntry:
    """Returns one change of one setting."""
    return ConfigEntry(name, value, incremental_operation=what)


def produce(broker: BrokerProcess, topic: str, count: int, partition: int = 0) -> None:
    """Appends `count` records, each in its own batch."""
    producer = Producer({"bootstrap.servers": broker.address, "batch.num.messages": 1})
    for number in range(count):
        producer.produce(topic, f"record {number}", partition=partition)
    assert producer.flush(SECONDS) == 0


def reader(broker: BrokerProcess) -> Consumer:
    """A consumer without a group, with auto.offset.reset=earliest."""
    return Consumer(
        {
            "bootstrap.servers": broker.address,
            "group.id": "unused",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )


def first_offset(broker: BrokerProcess, topic: str) -> int:
    """Returns the first offset of partition 0."""
    consumer = reader(broker)
    first, _ = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=SECONDS)
    consumer.close()
    return int(first)


def test_a_topic_is_made_found_and_deleted(admin: AdminClient, topic: str) -> None:
    create(admin, topic, 3)
    described = admin.list_topics(timeout=SECONDS).topics[topic]
    assert sorted(described.partitions) == [0, 1, 2]
    assert all(partition.leader == 1 for partition in described.partitions.values())
    assert "TOPIC_ALREADY_EXISTS" in refused(admin.create_topics([NewTopic(topic, 1)]))
    done(admin.delete_topics([topic]))
    assert topic not in admin.list_topics(timeout=SECONDS).topics
    assert "UNKNOWN_TOPIC_OR_PART" in refused(admin.delete_topics([topic]))
    create(admin, topic, 1)
    assert partitions_of(admin, topic) == 1


def test_an_invalid_new_topic_is_reported(admin: AdminClient, topic: str) -> None:
    for new, expected in [
        (NewTopic("no/path", 1), "TOPIC_EXCEPTION"),
        (NewTopic("__consumer_offsets", 1), "TOPIC_EXCEPTION"),
        (NewTopic(topic, 20_000), "INVALID_PARTITIONS"),
        (NewTopic(topic, 1, replication_factor=2), "INVALID_REPLICATION_FACTOR"),
        (NewTopic(topic, 1, config={"retention.mss": "1"}), "did you mean 'retention.ms'"),
        (NewTopic(topic, 1, config={"retention.ms": "soon"}), "'soon'"),
        (NewTopic(topic, 1, replica_assignment=[[7]]), "INVALID_REPLICA_ASSIGNMENT"),
    ]:
        assert expected in refused(admin.create_topics([new]))
    assert topic not in admin.list_topics(timeout=SECONDS).topics


def test_a_topic_is_judged_without_being_made(admin: AdminClient, topic: str) -> None:
    done(admin.create_topics([NewTopic(topic, 2)], validate_only=True))
    assert topic not in admin.list_topics(timeout=SECONDS).topics


def test_numbers_left_open_are_defaults(admin: AdminClient, topic: str) -> None:
    done(admin.create_topics([NewTopic(topic)]))
    assert partitions_of(admin, topic) == 1


def test_partitions_are_added_and_never_removed(admin: AdminClient, topic: str) -> None:
    create(admin, topic, 2)
    done(admin.create_partitions([NewPartitions(topic, 5)], validate_only=True))
    assert partitions_of(admin, topic) == 2
    done(admin.create_partitions([NewPartitions(topic, 5)]))
    assert partitions_of(admin, topic) == 5
    assert "INVALID_PARTITIONS" in refused(admin.create_partitions([NewPartitions(topic, 4)]))


def test_a_new_partition_takes_records_at_once(
    shared_broker: BrokerProcess, admin: AdminClient, topic: str
) -> None:
    create(admin, topic, 1)
    produce(shared_broker, topic, 1)
    done(admin.create_partitions([NewPartitions(topic, 2)]))
    produce(shared_broker, topic, 3, partition=1)


def test_a_topic_lists_every_setting_and_where_it_comes_from(
    admin: AdminClient, topic: str
) -> None:
    create(admin, topic, retention_ms="3600000")
    entries = settings(admin, ResourceType.TOPIC, topic)
    own = entries["retention.ms"]
    assert own.value == "3600000"
    assert ConfigSource(own.source) is ConfigSource.DYNAMIC_TOPIC_CONFIG
    assert not own.is_default
    inherited = entries["segment.bytes"]
    assert inherited.value == "1073741824"
    assert ConfigSource(inherited.source) is ConfigSource.DEFAULT_CONFIG
    assert set(inherited.synonyms) == {"log.segment.bytes"}
    assert {name for name, entry in entries.items() if entry.is_read_only} == {"offset.unit"}
    for name, value in {
        "cleanup.policy": "delete",
        "compression.type": "producer",
        "flush.messages": "10000",
        "flush.ms": "50",
        "max.message.bytes": "1048588",
        "min.insync.replicas": "1",
        "retention.bytes": "-1",
        "unclean.leader.election.enable": "false",
        "write.caching": "false",
    }.items():
        assert entries[name].value == value, name


def test_a_setting_is_set_appended_to_cut_and_dropped(admin: AdminClient, topic: str) -> None:
    create(admin, topic)

    def apply(name: str, value: str | None, what: AlterConfigOpType) -> str | None:
        done(change(admin, ResourceType.TOPIC, topic, step(name, value, what)))
        found = settings(admin, ResourceType.TOPIC, topic)[name].value
        assert found is None or isinstance(found, str)
        return found

    assert apply("retention.ms", "1000", AlterConfigOpType.SET) == "1000"
    assert apply("retention.ms", None, AlterConfigOpType.DELETE) == "604800000"
    assert apply("cleanup.policy", "compact", AlterConfigOpType.APPEND) == "delete,compact"
    assert apply("cleanup.policy", "delete", AlterConfigOpType.SUBTRACT) == "compact"


def test_an_invalid_change_of_settings_changes_nothing(admin: AdminClient, topic: str) -> None:
    create(admin, topic)
    steps = [
        step("retention.ms", "1000", AlterConfigOpType.SET),
        step("segment.bytes", "1", AlterConfigOpType.SET),
    ]
    assert "segment.bytes" in refused(change(admin, ResourceType.TOPIC, topic, *steps))
    unit = step("offset.unit", "byte", AlterConfigOpType.SET)
    assert "fixed" in refused(change(admin, ResourceType.TOPIC, topic, unit))
    word = step("retention.ms", "1", AlterConfigOpType.APPEND)
    assert "only lists" in refused(change(admin, ResourceType.TOPIC, topic, word))
    assert settings(admin, ResourceType.TOPIC, topic)["retention.ms"].value == "604800000"


def test_a_changed_setting_is_in_force_at_once(
    shared_broker: BrokerProcess, admin: AdminClient, topic: str
) -> None:
    create(admin, topic)
    small = step("max.message.bytes", "100", AlterConfigOpType.SET)
    done(change(admin, ResourceType.TOPIC, topic, small))
    failures: list[Any] = []
    producer = Producer({"bootstrap.servers": shared_broker.address})
    producer.produce(topic, b"x" * 200, on_delivery=lambda error, _: failures.append(error))
    assert producer.flush(SECONDS) == 0
    assert failures[0].name() == "MSG_SIZE_TOO_LARGE"


def test_the_broker_lists_its_settings_and_the_facts_that_tools_read(admin: AdminClient) -> None:
    entries = settings(admin, ResourceType.BROKER, "1")
    for name, value in {
        "broker.id": "1",
        "default.replication.factor": "-1",
        "delete.topic.enable": "true",
        "auto.create.topics.enable": "true",
        "log.retention.ms": "604800000",
        "log.segment.bytes": "1073741824",
        "message.max.bytes": "1048588",
        "num.partitions": "1",
    }.items():
        assert entries[name].value == value, name
    assert ConfigSource(entries["log.dirs"].source) is ConfigSource.STATIC_BROKER_CONFIG
    assert entries["num.partitions"].is_read_only
    assert not entries["log.retention.ms"].is_read_only
    version = entries["inter.broker.protocol.version"].value
    assert version is not None
    assert float(version.split("-")[0]) >= 3.9


def test_defaults_of_topics_change_while_the_broker_runs_and_outlive_it(
    broker: BrokerProcess, topic: str
) -> None:
    admin = AdminClient({"bootstrap.servers": broker.address})
    create(admin, topic)
    changed = step("log.retention.ms", "3600000", AlterConfigOpType.SET)
    done(change(admin, ResourceType.BROKER, "1", changed))
    for _ in range(2):
        entry = settings(admin, ResourceType.TOPIC, topic)["retention.ms"]
        assert entry.value == "3600000"
        assert ConfigSource(entry.source) is ConfigSource.DYNAMIC_BROKER_CONFIG
        assert settings(admin, ResourceType.BROKER, "1")["log.retention.ms"].value == "3600000"
        assert broker.stop() == 0
        broker.start()
        admin = AdminClient({"bootstrap.servers": broker.address})
    dropped = step("log.retention.ms", None, AlterConfigOpType.DELETE)
    done(change(admin, ResourceType.BROKER, "1", dropped))
    assert settings(admin, ResourceType.TOPIC, topic)["retention.ms"].value == "604800000"


def test_a_setting_that_needs_a_restart_is_refused_while_the_broker_runs(
    admin: AdminClient,
) -> None:
    partitions = step("num.partitions", "3", AlterConfigOpType.SET)
    message = refused(change(admin, ResourceType.BROKER, "1", partitions))
    assert "INVALID_REQUEST" in message
    assert "restart" in message


def test_records_are_deleted_up_to_an_offset_and_stay_deleted(
    broker: BrokerProcess, topic: str
) -> None:
    admin = AdminClient({"bootstrap.servers": broker.address})
    create(admin, topic)
    produce(broker, topic, 10)
    (cut,) = done(admin.delete_records([TopicPartition(topic, 0, 4)]))
    assert cut.low_watermark == 4
    assert first_offset(broker, topic) == 4
    beyond = refused(admin.delete_records([TopicPartition(topic, 0, 11)]))
    assert "OFFSET_OUT_OF_RANGE" in beyond
    broker.kill()
    broker.start()
    assert first_offset(broker, topic) == 4
    consumer = reader(broker)
    consumer.assign([TopicPartition(topic, 0, 0)])
    message = consumer.poll(SECONDS)
    consumer.close()
    assert message is not None
    assert message.value() == b"record 4"


Rows = set[tuple[int | None, bytes | None]]
Found = Callable[[], Rows]
Reads = Callable[[BrokerProcess, str, int], AbstractContextManager[Found]]


@contextmanager
def librdkafka_reads(broker: BrokerProcess, topic: str, partitions: int) -> Iterator[Found]:
    """Reads without a fetch session: librdkafka does not support them."""
    consumer = reader(broker)
    consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])

    def found() -> Rows:
        messages = consumer.consume(100, timeout=0.2)
        return {(message.partition(), message.value()) for message in messages}

    yield found
    consumer.close()


@contextmanager
def kafka_python_reads(broker: BrokerProcess, topic: str, partitions: int) -> Iterator[Found]:
    """Reads in a fetch session."""
    consumer = KafkaConsumer(
        bootstrap_servers=broker.address, enable_incremental_fetch_sessions=True
    )
    consumer.assign([KafkaTopicPartition(topic, number) for number in range(partitions)])
    consumer.seek_to_beginning()

    def found() -> Rows:
        polled = consumer.poll(200)
        return {(row.partition, row.value) for rows in polled.values() for row in rows}

    yield found
    consumer.close()


@pytest.mark.parametrize("reads", [librdkafka_reads, kafka_python_reads])
def test_a_consumer_of_many_partitions_misses_nothing(
    shared_broker: BrokerProcess, admin: AdminClient, topic: str, reads: Reads
) -> None:
    count = 40
    create(admin, topic, count)
    producer = Producer({"bootstrap.servers": shared_broker.address})
    with reads(shared_broker, topic, count) as found:
        # Several rounds, so that most partitions have no new records in most fetches of a session.
        for round_number in range(6):
            value = b"round %d" % round_number
            expected: Rows = {(number, value) for number in range(round_number, count, 7)}
            for number in range(round_number, count, 7):
                producer.produce(topic, value, partition=number)
            assert producer.flush(SECONDS) == 0
            received: Rows = set()

            def is_complete(
                expected: Rows = expected,
                received: Rows = received,
            ) -> bool:
                received |= found()
                return len(received) >= len(expected)

            until(is_complete)
            assert received == expected


def test_kafka_python_makes_extends_and_deletes_topics(
    kafka_admin: KafkaAdminClient, topic: str
) -> None:
    kafka_admin.create_topics([KafkaNewTopic(topic, 2, 1)])
    (described,) = kafka_admin.describe_topics([topic])
    assert len(described["partitions"]) == 2
    kafka_admin.create_partitions({topic: KafkaNewPartitions(3)})
    (described,) = kafka_admin.describe_topics([topic])
    assert len(described["partitions"]) == 3
    kafka_admin.delete_topics([topic])
    assert topic not in kafka_admin.list_topics()


@pytest.mark.parametrize("incremental", [True, False])
def test_kafka_python_changes_settings(
    kafka_admin: KafkaAdminClient, topic: str, incremental: bool
) -> None:
    kafka_admin.create_topics([KafkaNewTopic(topic, 1, 1)])
    resource = KafkaConfigResource(ConfigResourceType.TOPIC, topic, {"retention.ms": "1000"})
    kafka_admin.alter_configs([resource], incremental=incremental)
    asked = KafkaConfigResource(ConfigResourceType.TOPIC, topic)
    modified = kafka_admin.describe_configs([asked])["topic"][topic]
    assert {name: entry["value"] for name, entry in modified.items()} == {"retention.ms": "1000"}


def test_kafka_python_deletes_everything_there_is(
    shared_broker: BrokerProcess, kafka_admin: KafkaAdminClient, topic: str
) -> None:
    kafka_admin.create_topics([KafkaNewTopic(topic, 1, 1)])
    produce(shared_broker, topic, 5)
    partition = KafkaTopicPartition(topic, 0)
    result = kafka_admin.delete_records({partition: -1})
    assert result[partition]["low_watermark"] == 5


def test_the_data_directory_is_described(
    shared_broker: BrokerProcess, kafka_admin: KafkaAdminClient, topic: str
) -> None:
    kafka_admin.create_topics([KafkaNewTopic(topic, 2, 1)])
    produce(shared_broker, topic, 10)
    (described,) = kafka_admin.describe_log_dirs({topic: [0, 1]})
    (directory,) = described["log_dirs"]
    assert directory["error_code"] == 0
    assert Path(directory["log_dir"]) == shared_broker.data_dir
    assert directory["total_bytes"] > directory["usable_bytes"] > 0
    (of_topic,) = directory["topics"]
    sizes = {row["partition_index"]: row["partition_size"] for row in of_topic["partitions"]}
    on_disk = (shared_broker.data_dir / f"{topic}-0").glob("*.log")
    assert sizes == {0: sum(path.stat().st_size for path in on_disk), 1: 0}
    assert sizes[0] > 0


def test_the_cluster_is_described(
    shared_broker: BrokerProcess, admin: AdminClient, kafka_admin: KafkaAdminClient
) -> None:
    described = admin.describe_cluster(include_authorized_operations=True).result(SECONDS)
    assert described.cluster_id
    assert described.controller.id == 1
    (node,) = described.nodes
    assert f"{node.host}:{node.port}" == shared_broker.address
    assert described.authorized_operations
    assert kafka_admin.describe_cluster()["cluster_id"] == described.cluster_id
