"""Consumer groups of third-party clients: assignment, commits, rebalances."""

import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka import ConsumerGroupTopicPartitions as GroupPartitions
from confluent_kafka.admin import AdminClient
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka import TopicPartition as KafkaTopicPartition
from kafka.errors import KafkaError as KafkaPythonError
from kafka.errors import NoError, UnknownTopicOrPartitionError
from kafka.structs import OffsetAndMetadata

from py.support import group_member
from py.support.broker import BrokerProcess, until

PARTITIONS = 6
SESSION_MS = 10_000
OPTIONS = (
    *("--set", f"num.partitions={PARTITIONS}"),
    *("--set", "group.min.session.timeout.ms=500"),
)

_groups = count()


@pytest.fixture(scope="module")
def groups_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker whose topics have several partitions, for tests that do not stop it."""
    with BrokerProcess(tmp_path_factory.mktemp("groups") / "data", *OPTIONS) as broker:
        yield broker


@pytest.fixture
def group() -> str:
    """A group that no other test uses."""
    return f"group-{next(_groups)}"


def produce(address: str, topic: str, values: range) -> None:
    """Produces numbers, spread evenly over the partitions."""
    failures: list[object] = []
    producer = Producer({"bootstrap.servers": address, "linger.ms": 5})
    for value in values:
        producer.produce(
            topic,
            str(value).encode(),
            partition=value % PARTITIONS,
            on_delivery=lambda error, _: failures.append(error),
        )
    assert producer.flush(20) == 0
    assert failures == [None] * len(values)


def consumer_of(address: str, group: str, **options: object) -> Consumer:
    """A librdkafka consumer without auto commit."""
    settings: dict[str, object] = {
        "bootstrap.servers": address,
        "group.id": group,
        "session.timeout.ms": SESSION_MS,
        "heartbeat.interval.ms": 200,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        # Silence librdkafka, which logs the provoked errors to standard error.
        "log_level": 0,
    }
    return Consumer({**settings, **options})


def admin_of(address: str) -> AdminClient:
    """An admin client of librdkafka."""
    return AdminClient({"bootstrap.servers": address})


@contextmanager
def kafka_admin_of(address: str) -> Iterator[KafkaAdminClient]:
    """An admin client of kafka-python."""
    admin = KafkaAdminClient(bootstrap_servers=address)
    try:
        yield admin
    finally:
        admin.close()


class Member:
    """A member as a separate process, which writes its records to a file."""

    def __init__(self, client: str, address: str, group: str, topic: str, output: Path) -> None:
        """Starts the process."""
        self.output = output
        arguments = [client, address, group, topic]
        with output.open("wb") as out, output.with_suffix(".err").open("wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, group_member.__file__, *arguments], stdout=out, stderr=err
            )

    def records(self) -> list[tuple[int, int]]:
        """The (partition, value) pairs that it has read."""
        lines = self.output.read_text().splitlines(keepends=True)
        rows = [line.split() for line in lines if line.endswith("\n")]
        return [(int(partition), int(value)) for partition, _, value in rows]

    def kill(self) -> None:
        """Kills it with SIGKILL, so that it cannot leave its group."""
        self.process.kill()
        self.process.wait()


def assignments(admin: AdminClient, group: str) -> dict[str, list[int]]:
    """Returns the partitions of each member of a stable group; empty while it is not stable."""
    description = admin.describe_consumer_groups([group])[group].result(10)
    if description.state.name != "STABLE":
        return {}
    return {
        member.member_id: sorted(p.partition for p in member.assignment.topic_partitions)
        for member in description.members
    }


def is_shared_by(admin: AdminClient, group: str, members: int) -> bool:
    """Returns true if `count` members have all partitions among them, each at least one."""
    shares = list(assignments(admin, group).values())
    return len(shares) == members and all(shares) and sum(map(len, shares)) == PARTITIONS


@pytest.mark.parametrize("client", group_member.MEMBERS)
def test_a_group_of_three_continues_when_a_member_is_killed(
    groups_broker: BrokerProcess, topic: str, group: str, client: str, tmp_path: Path
) -> None:
    address, admin = groups_broker.address, admin_of(groups_broker.address)
    produce(address, topic, range(600))
    with ExitStack() as stack:
        members = []
        for number in range(3):
            member = Member(client, address, group, topic, tmp_path / f"{number}.out")
            stack.callback(member.kill)
            members.append(member)
        until(lambda: is_shared_by(admin, group, 3), 20)
        victim, *survivors = members
        victim.kill()
        seen_by_victim = set(victim.records())
        produce(address, topic, range(600, 1200))
        expected = {(value % PARTITIONS, value) for value in range(1200)}

        def seen_by_survivors() -> set[tuple[int, int]]:
            return {record for member in survivors for record in member.records()}

        until(lambda: seen_by_victim | seen_by_survivors() == expected, 20)
        until(lambda: is_shared_by(admin, group, 2), 10)
        later = {value for _, value in seen_by_survivors()} & set(range(600, 1200))
        assert later == set(range(600, 1200))


def committed(address: str, group: str, topic: str) -> dict[int, int]:
    """Returns the committed offsets, as seen by a consumer of the group."""
    consumer = consumer_of(address, group)
    try:
        partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        return {p.partition: p.offset for p in consumer.committed(partitions, timeout=10)}
    finally:
        consumer.close()


def test_commits_outlive_a_kill_of_the_broker(tmp_path: Path, topic: str, group: str) -> None:
    with BrokerProcess(tmp_path / "data", *OPTIONS) as broker:
        produce(broker.address, topic, range(600))
        consumer = consumer_of(broker.address, group)
        consumer.subscribe([topic])
        read: dict[int | None, int] = defaultdict(int)
        while sum(read.values()) < 250:
            for message in consumer.consume(50, timeout=10):
                assert message.error() is None
                assert message.offset() == read[message.partition()]
                read[message.partition()] += 1
        consumer.commit(asynchronous=False)
        broker.kill()
        broker.start()
        # The same member resumes as if nothing had happened...
        while sum(read.values()) < 600:
            for message in consumer.consume(50, timeout=10):
                if message.error() is None:
                    assert message.offset() == read[message.partition()]
                    read[message.partition()] += 1
        consumer.commit(asynchronous=False)
        consumer.close()
        # ...and so does the next one, after a clean stop too.
        produce(broker.address, topic, range(600, 606))
        assert broker.stop() == 0
        broker.start()
        later = consumer_of(broker.address, group)
        later.subscribe([topic])
        values: set[bytes | None] = set()
        while len(values) < 6:
            messages = later.consume(6, timeout=10)
            values |= {message.value() for message in messages if message.error() is None}
        later.close()
        assert values == {str(value).encode() for value in range(600, 606)}


def test_offsets_are_read_back_by_administrators(
    groups_broker: BrokerProcess, topic: str, group: str
) -> None:
    address = groups_broker.address
    produce(address, topic, range(PARTITIONS))
    consumer = consumer_of(address, group)
    offsets = [TopicPartition(topic, 0, 1, "as far as this"), TopicPartition(topic, 3, 0)]
    stored = consumer.commit(offsets=offsets, asynchronous=False)
    assert [partition.error for partition in stored] == [None, None]
    consumer.close()

    request = [GroupPartitions(group, [TopicPartition(topic, 0), TopicPartition(topic, 1)])]
    admin = admin_of(address)
    answer = admin.list_consumer_group_offsets(request)[group].result(10)
    shown = [(p.partition, p.offset, p.metadata or "") for p in answer.topic_partitions]
    assert shown == [(0, 1, "as far as this"), (1, -1001, "")]
    with kafka_admin_of(address) as other:
        found = other.list_group_offsets({group: None})[group]
        # confluent-kafka commits metadata with the trailing NUL of a C string.
        shown = sorted((p.partition, o.offset, o.metadata.rstrip("\0")) for p, o in found.items())
        assert shown == [(0, 1, "as far as this"), (3, 0, "")]
        one, two = KafkaTopicPartition(topic, 0), KafkaTopicPartition(topic, 3)
        other.delete_group_offsets(group, [one])
        assert list(other.list_group_offsets({group: None})[group]) == [two]


def test_a_commit_for_a_partition_that_is_not_there_is_refused_alone(
    groups_broker: BrokerProcess, topic: str, group: str
) -> None:
    produce(groups_broker.address, topic, range(1))
    one, two = KafkaTopicPartition(topic, 0), KafkaTopicPartition(topic, 99)
    three = KafkaTopicPartition("not-there", 0)
    offset = OffsetAndMetadata(1, "", -1)
    with kafka_admin_of(groups_broker.address) as admin:
        fates = admin.alter_group_offsets(group, {one: offset, two: offset, three: offset})
    unknown = UnknownTopicOrPartitionError
    assert fates == {one: NoError, two: unknown, three: unknown}
    assert committed(groups_broker.address, group, topic)[0] == 1


def test_groups_are_listed_described_and_deleted(
    groups_broker: BrokerProcess, topic: str, group: str
) -> None:
    address, admin = groups_broker.address, admin_of(groups_broker.address)
    produce(address, topic, range(PARTITIONS))
    consumer = consumer_of(address, group, **{"client.id": "reader"})
    consumer.subscribe([topic])
    until(lambda: consumer.poll(0.1) is not None)
    consumer.commit(asynchronous=False)

    description = admin.describe_consumer_groups([group])[group].result(10)
    assert (description.state.name, description.partition_assignor) == ("STABLE", "range")
    [member] = description.members
    assert (member.client_id, member.host) == ("reader", "/127.0.0.1")
    listed = admin.list_consumer_groups().result(10).valid
    assert (group, "STABLE") in [(g.group_id, g.state.name) for g in listed]
    with pytest.raises(KafkaException) as refused:
        admin.delete_consumer_groups([group])[group].result(10)
    assert refused.value.args[0].code() == KafkaError.NON_EMPTY_GROUP

    consumer.close()
    with kafka_admin_of(address) as other:
        assert other.describe_groups([group])[group]["group_state"] == "Empty"
        listed = other.list_groups()
        assert group in [g["group_id"] for g in listed]
    assert max(committed(address, group, topic).values()) == 1
    admin.delete_consumer_groups([group])[group].result(10)
    assert set(committed(address, group, topic).values()) == {-1001}
    with pytest.raises(KafkaException) as refused:
        admin.delete_consumer_groups([group])[group].result(10)
    assert refused.value.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND


def poll_until(consumers: list[Consumer], condition: Callable[[], bool], seconds: float) -> None:
    """Polls all consumers in turn until the condition is true."""

    def polled() -> bool:
        for consumer in consumers:
            consumer.poll(0.05)
        return condition()

    until(polled, seconds)


def test_a_member_that_leaves_is_replaced_at_once(
    groups_broker: BrokerProcess, topic: str, group: str
) -> None:
    address = groups_broker.address
    produce(address, topic, range(PARTITIONS))
    one, two = consumer_of(address, group), consumer_of(address, group)
    one.subscribe([topic])
    two.subscribe([topic])
    poll_until([one, two], lambda: len(one.assignment()) == len(two.assignment()) == 3, 10)
    start = time.monotonic()
    two.close()
    poll_until([one], lambda: len(one.assignment()) == PARTITIONS, 10)
    assert time.monotonic() - start < SESSION_MS / 1000 / 2
    one.close()


def test_a_static_member_comes_back_to_its_partitions_without_a_rebalance(
    groups_broker: BrokerProcess, topic: str, group: str
) -> None:
    address = groups_broker.address
    produce(address, topic, range(PARTITIONS))
    rebalances: list[object] = []

    def member(name: str) -> Consumer:
        consumer = consumer_of(address, group, **{"group.instance.id": name})
        note = lambda _, partitions: rebalances.append(partitions)  # noqa: E731
        consumer.subscribe([topic], on_assign=note, on_revoke=note)
        return consumer

    one, two = member("one"), member("two")
    poll_until([one, two], lambda: len(one.assignment()) == len(two.assignment()) == 3, 10)
    of_one, of_two = one.assignment(), two.assignment()
    # Closing a static member does not leave the group.
    two.close()
    rebalances.clear()
    again = member("two")
    poll_until([one, again], lambda: len(again.assignment()) == 3, 10)
    assert sorted(again.assignment()) == sorted(of_two)
    assert one.assignment() == of_one
    assert len(rebalances) == 1, "only the one that came back got an assignment"
    again.close()
    one.close()


def test_two_clients_share_one_group(groups_broker: BrokerProcess, topic: str, group: str) -> None:
    address, admin = groups_broker.address, admin_of(groups_broker.address)
    produce(address, topic, range(PARTITIONS))
    one = consumer_of(address, group)
    one.subscribe([topic])
    two = KafkaConsumer(
        topic,
        bootstrap_servers=address,
        group_id=group,
        session_timeout_ms=SESSION_MS,
        heartbeat_interval_ms=200,
        enable_auto_commit=False,
    )

    def polled() -> bool:
        one.poll(0.05)
        # Poll longer than the heartbeat interval by which the other member learns of a join: it
        # has to end in this call, because kafka-python starts over if it ended between two polls.
        two.poll(timeout_ms=500)
        return is_shared_by(admin, group, 2)

    until(polled, 20)
    two.close()
    one.close()


def test_a_transactional_producer_gets_unsupported_version(
    groups_broker: BrokerProcess,
) -> None:
    other = KafkaProducer(bootstrap_servers=groups_broker.address, transactional_id="t")
    with pytest.raises(KafkaPythonError, match="UnsupportedVersion"):
        other.init_transactions()
    other.close()
    settings = {"bootstrap.servers": groups_broker.address, "transactional.id": "t"}
    producer = Producer({**settings, "log_level": 0})
    with pytest.raises(KafkaException) as caught:
        # The call retries until this timeout.
        producer.init_transactions(2)
    error = caught.value.args[0]
    assert error.name() == "UNSUPPORTED_VERSION", error
    assert "wants transactions" in groups_broker.log()


def test_an_idempotent_producer_gets_an_id(groups_broker: BrokerProcess, topic: str) -> None:
    failures: list[object] = []
    settings = {"bootstrap.servers": groups_broker.address, "enable.idempotence": True}
    producer = Producer(settings)
    for value in range(100):
        producer.produce(
            topic, str(value).encode(), on_delivery=lambda error, _: failures.append(error)
        )
    assert producer.flush(20) == 0
    assert failures == [None] * 100
