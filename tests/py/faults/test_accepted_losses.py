"""Consumers are told of records that an operator gave up so that a replica without them leads."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

import streamlog
from py.faults.conftest import PATIENCE
from py.support.broker import until
from py.support.nodes import replicated
from streamlog import Broker, Client, Consumer, RecordsLost

TOPIC = "orders"

KEPT = 10
"""The number of records that all replicas have."""

END = 15
"""The end of the log before the loss: the records from `KEPT` on are given up."""


@pytest.fixture
def cluster() -> Iterator[Broker]:
    """Three nodes, each with a replica of the topic."""
    with replicated(Broker(nodes=3, replica_lag_time_max_ms=1000), TOPIC) as cluster:
        yield cluster


@pytest.fixture
def client(cluster: Broker) -> Iterator[Client]:
    """A client that knows all nodes."""
    with cluster.connect() as client:
        yield client


def write(client: Client, numbers: range) -> None:
    """Stores numbers on all in-sync replicas, each in a batch of its own."""
    with client.producer() as producer:
        for number in numbers:
            producer.send(TOPIC, b"%d" % number).result(timeout=PATIENCE)


def read(consumer: Consumer, count: int) -> list[tuple[int, int]]:
    """The offsets and numbers of the next records; fewer if a timeout ends the wait for them."""
    messages = consumer.take(count, timeout=PATIENCE)
    return [(message.offset, int(message.value or b"")) for message in messages]


def told(consumer: Consumer) -> RecordsLost:
    """The error that a loop over the consumer raises before the next message."""
    try:
        for message in consumer:
            pytest.fail(f"{message} is delivered instead of an error")
    except RecordsLost as loss:
        return loss
    pytest.fail("the loop ends without an error")


def written(numbers: range) -> list[tuple[int, int]]:
    """The offsets and numbers of records that were written before the loss."""
    return [(number, number) for number in numbers]


def leave_one_behind(cluster: Broker, client: Client) -> int:
    """Writes records, the last of which a follower lacks; returns the follower, which is killed."""
    leader = cluster.leader(TOPIC)
    assert leader is not None
    behind = (leader + 1) % 3
    write(client, range(KEPT))
    cluster.nodes[behind].kill()
    until(lambda: behind not in client.admin.topic(TOPIC).partitions[0].isr, PATIENCE)
    write(client, range(KEPT, END))
    return behind


def accept_loss(cluster: Broker, behind: int) -> None:
    """Ends all other nodes, and lets the replica that lacks records lead and take new ones."""
    leader = cluster.leader(TOPIC)
    assert leader is not None
    follower = 3 - leader - behind
    cluster.nodes[follower].kill()
    cluster.nodes[leader].kill()
    node = cluster.nodes[behind]
    node.start()
    with streamlog.connect(node.address) as operator:
        admin = operator.admin
        until(lambda: [broker.id for broker in admin.cluster().brokers] == [behind], PATIENCE)
        until(lambda: admin.topic(TOPIC).partitions[0].leader is None, PATIENCE)
        given_up = elect(node.address)
        assert (given_up["leader"], given_up["given_up_from"]) == (behind, KEPT)
        until(lambda: cluster.leader(TOPIC) == behind, PATIENCE)
        # It is the only replica that runs.
        admin.set_settings({"min.insync.replicas": 1}, topic=TOPIC)


def elect(address: str) -> dict[str, object]:
    """Elects a leader that lacks the records from `KEPT` on; returns the row that is printed."""
    command = [sys.executable, "-m", "streamlog", "partition", "elect", f"{TOPIC}-0"]
    command += ["--accept-data-loss", str(KEPT), "-o", "json"]
    environment = {**os.environ, "STREAMLOG_BOOTSTRAP": address}
    run = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=PATIENCE, check=False
    )
    assert run.returncode == 0, run.stderr
    row: dict[str, object] = json.loads(run.stdout)
    return row


def test_a_consumer_that_has_read_records_that_are_given_up_is_told_once(
    cluster: Broker, client: Client
) -> None:
    behind = leave_one_behind(cluster, client)
    with client.consumer(TOPIC) as consumer:
        assert read(consumer, END) == written(range(END))
        accept_loss(cluster, behind)
        write(client, range(100, 101))

        loss = told(consumer)
        assert f"{TOPIC}-0 from offset {KEPT} on" in str(loss)
        assert (loss.topic, loss.partition) == (TOPIC, 0)
        assert (loss.offset, loss.position, loss.resumed) == (KEPT, END, KEPT)
        assert read(consumer, 1) == [(KEPT, 100)], "it continues where the records were given up"

        # The replicas that had the records give them up too, and one of them leads.
        for node in cluster.nodes:
            if not node.is_running:
                node.start()
        cluster.wait_in_sync(timeout=PATIENCE)
        cluster.nodes[behind].kill()
        write(client, range(101, 102))
        assert read(consumer, 1) == [(KEPT + 1, 101)], "no later leader tells of the loss again"


def test_consumers_that_have_read_no_record_that_is_given_up_are_not_told(
    cluster: Broker, client: Client
) -> None:
    behind = leave_one_behind(cluster, client)
    # It fetches one batch at a time, and so does not fetch a record that will be given up.
    with client.consumer(TOPIC, buffer=1, fetch_bytes=1) as earlier:
        assert read(earlier, 4) == written(range(4))
        accept_loss(cluster, behind)
        write(client, range(100, 101))
        assert read(earlier, KEPT - 4 + 1) == [*written(range(4, KEPT)), (KEPT, 100)]
    with client.consumer(TOPIC) as later:
        assert read(later, KEPT + 1) == [*written(range(KEPT)), (KEPT, 100)]
