"""A cluster of several brokers in the program's own process, and its faults."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import streamlog
from py.support.nodes import replicated
from streamlog import Broker, Client, ConfigError, ConnectError, RequestTimeout, StreamlogError

SESSION = {"zookeeper.session.timeout.ms": 1000}
PATIENCE = 20.0
TOPIC = "orders"


@pytest.fixture
def cluster() -> Iterator[Broker]:
    """Three nodes, each with a replica of the topic."""
    with replicated(Broker(nodes=3, config=SESSION), TOPIC) as cluster:
        yield cluster


@pytest.fixture
def client(cluster: Broker) -> Iterator[Client]:
    """A client that knows all nodes."""
    with cluster.connect() as client:
        yield client


def send(client: Client, value: bytes) -> None:
    """Stores a record on all in-sync replicas."""
    with client.producer() as producer:
        producer.send(TOPIC, value).result(timeout=PATIENCE)


def stored(client: Client) -> list[bytes | None]:
    """The values in the topic."""
    return [message.value for message in client.topic(TOPIC).read()]


def leader(cluster: Broker, other_than: int | None = None) -> int:
    """The node that leads the topic, once it is another one than that."""
    deadline = time.monotonic() + PATIENCE
    while (found := cluster.leader(TOPIC)) in {None, other_than}:
        assert time.monotonic() < deadline, f"node {found} leads"
        time.sleep(0.01)
    assert found is not None
    return found


def accepts(node: streamlog.Node) -> bool:
    """True if the node accepts connections."""
    host, port = node.address.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except ConnectionRefusedError:
        return False
    return True


def test_each_node_is_a_broker_that_knows_all_others() -> None:
    with Broker(nodes=3) as cluster:
        assert [node.number for node in cluster.nodes] == [0, 1, 2]
        addresses = [node.address for node in cluster.nodes]
        assert cluster.bootstrap == ",".join(addresses)
        assert cluster.address == addresses[0] == f"127.0.0.1:{cluster.port}"
        for address in addresses:
            with streamlog.connect(address) as client:
                brokers = client.admin.cluster().brokers
                assert sorted(broker.address for broker in brokers) == sorted(addresses)


def test_settings_hold_for_every_node() -> None:
    with Broker(nodes=2, num_partitions=3) as cluster, cluster.connect() as client:
        client.producer().send("t", b"x").result()
        assert client.topic("t").partitions() == 3


@pytest.mark.parametrize("end", [streamlog.Node.kill, streamlog.Node.stop], ids=["kill", "stop"])
def test_another_node_leads_when_the_leader_ends(
    cluster: Broker, client: Client, end: Callable[[streamlog.Node], None]
) -> None:
    send(client, b"before")
    before = leader(cluster)
    node = cluster.nodes[before]
    end(node)
    assert (node.is_running, node.failure, accepts(node)) == (False, None, False)
    assert cluster.is_running
    send(client, b"without it")
    assert leader(cluster) != before
    address = node.address
    node.start()
    cluster.wait_in_sync(timeout=PATIENCE)
    assert (node.is_running, node.address, accepts(node)) == (True, address, True)
    assert stored(client) == [b"before", b"without it"]


def test_a_node_that_is_paused_for_longer_than_its_session_is_followed_by_another(
    cluster: Broker, client: Client
) -> None:
    before = leader(cluster)
    cluster.nodes[before].pause(60)
    assert cluster.nodes[before].is_running
    leader(cluster, other_than=before)
    send(client, b"meanwhile")
    cluster.nodes[before].resume()
    cluster.wait_in_sync(timeout=PATIENCE)
    assert stored(client) == [b"meanwhile"]


def test_a_pause_ends_by_itself(cluster: Broker, client: Client) -> None:
    begin = time.monotonic()
    cluster.nodes[leader(cluster)].pause(0.3)
    send(client, b"afterwards")
    assert time.monotonic() - begin >= 0.3


def test_a_node_without_power_is_followed_by_another(cluster: Broker, client: Client) -> None:
    send(client, b"flushed")
    before = leader(cluster)
    cluster.lose_power(before)
    assert not cluster.nodes[before].is_running
    leader(cluster, other_than=before)
    cluster.nodes[before].start()
    cluster.wait_in_sync(timeout=PATIENCE)
    assert stored(client) == [b"flushed"]


def test_a_node_without_its_session_is_followed_by_another(cluster: Broker) -> None:
    before = leader(cluster)
    cluster.expire(before)
    leader(cluster, other_than=before)
    cluster.wait_in_sync(timeout=PATIENCE)
    assert cluster.nodes[before].is_running


def test_leaders_go_on_while_the_store_is_lost(cluster: Broker, client: Client) -> None:
    with client.producer() as producer:
        producer.send(TOPIC, b"before").result(timeout=PATIENCE)
        cluster.lose_store(60)
        producer.send(TOPIC, b"without the store").result(timeout=PATIENCE)
    cluster.lose_store(0)
    cluster.wait_in_sync(timeout=PATIENCE)
    assert stored(client) == [b"before", b"without the store"]


def test_clients_that_are_cut_off_reach_a_node_after_the_cut() -> None:
    with Broker(nodes=1) as cluster, cluster.connect(timeout=0.5) as client:
        client.admin.create_topic(TOPIC)
        cluster.cut("clients", 0)
        with pytest.raises(RequestTimeout):
            client.admin.topics()
        cluster.heal()
        assert client.admin.topics() == [TOPIC]


def test_a_follower_that_is_cut_off_leaves_the_in_sync_replicas(
    cluster: Broker, client: Client
) -> None:
    follower = (leader(cluster) + 1) % 3
    cluster.cut(leader(cluster), follower, one_way=True)
    send(client, b"without it")
    with pytest.raises(RequestTimeout, match=rf"node {follower} lacks records of {TOPIC}-0"):
        cluster.wait_in_sync(timeout=0)
    cluster.heal()
    cluster.wait_in_sync(timeout=PATIENCE)


def test_a_delay_holds_in_each_direction() -> None:
    with Broker(nodes=1) as cluster, cluster.connect() as client:
        client.admin.topics()
        cluster.delay("clients", 0, 150)
        begin = time.monotonic()
        client.admin.topics()
        assert time.monotonic() - begin >= 0.3


@pytest.mark.parametrize(
    "wait",
    [lambda cluster: cluster.wait_in_sync(timeout=60), lambda cluster: cluster.nodes[0].start()],
    ids=["wait_in_sync", "start"],
)
def test_a_signal_ends_what_waits(cluster: Broker, wait: Callable[[Broker], None]) -> None:
    class Alarm(Exception):
        pass

    def ring(_number: int, _frame: object) -> None:
        raise Alarm

    cluster.nodes[0].kill()
    cluster.lose_store(60)
    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Alarm):
            wait(cluster)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_closing_ends_a_wait_in_another_thread() -> None:
    failures: list[StreamlogError] = []

    cluster = Broker(nodes=2)

    def wait() -> None:
        try:
            cluster.wait_in_sync(timeout=PATIENCE)
        except StreamlogError as error:
            failures.append(error)

    node = cluster.nodes[1]
    node.kill()
    waiting = threading.Thread(target=wait)
    waiting.start()
    cluster.close()
    waiting.join(PATIENCE)
    assert [str(failure) for failure in failures] == ["the broker is closed"]
    assert not cluster.is_running
    assert not accepts(node)
    with pytest.raises(StreamlogError, match="the broker is closed"):
        node.start()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda cluster: cluster.nodes[1].start(), "node 1 runs already"),
        (lambda cluster: cluster.expire(3), "there is no node 3: the nodes are 0 to 2"),
        (lambda cluster: cluster.cut(1, 1), "two different ends"),
        (lambda cluster: cluster.cut("client", 1), "a: invalid value 'client'"),
        (lambda cluster: cluster.delay(0, -1, 5), "b: invalid value '-1'"),
        (lambda cluster: cluster.delay(0, 1, -5), "ms: invalid value '-5'"),
        (lambda cluster: cluster.lose_power("a"), "node: invalid value 'a'"),
        (lambda cluster: cluster.leader("none"), "no partition 0 of a topic 'none'"),
        (lambda cluster: cluster.leader(TOPIC, 7), f"no partition 7 of a topic '{TOPIC}'"),
        (lambda cluster: cluster.data_dir, "in memory"),
    ],
)
def test_a_call_that_no_cluster_can_fulfil_is_refused(
    cluster: Broker, call: Callable[[Broker], object], words: str
) -> None:
    with pytest.raises(StreamlogError, match=words):
        call(cluster)


def test_a_node_that_does_not_run_cannot_be_paused(cluster: Broker) -> None:
    cluster.nodes[2].stop()
    with pytest.raises(StreamlogError, match="node 2 does not run"):
        cluster.nodes[2].pause(1)


def test_settings_that_do_not_fit_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="data_dir: each node of a cluster"):
        Broker(tmp_path, nodes=3)
    with pytest.raises(ConfigError, match="listen: each node of a cluster"):
        Broker(nodes=3, listen="127.0.0.1:0")
    with pytest.raises(ConfigError, match=r"did you mean 'num\.partitions'"):
        Broker(nodes=3, num_partition=3)
    with pytest.raises(StreamlogError, match="1 to 16 nodes, not 0"):
        Broker(nodes=0)
    with pytest.raises(ConfigError, match="nodes: invalid value '-1'"):
        Broker(nodes=-1)


def test_a_single_broker_has_no_nodes_and_no_faults() -> None:
    with Broker() as broker:
        assert broker.nodes == ()
        with pytest.raises(StreamlogError, match=r"Broker\(nodes=3\) starts a cluster"):
            broker.heal()


def test_a_cluster_that_nobody_closed_ends_with_the_program() -> None:
    script = (
        "import streamlog; cluster = streamlog.Broker(nodes=3); cluster.nodes[0].pause(60); "
        "print(cluster.bootstrap)"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=20, check=True
    )
    assert run.stdout.count(",") == 2
    assert run.stderr == ""


def test_a_forked_child_has_no_nodes() -> None:
    with Broker(nodes=2) as cluster:
        node = cluster.nodes[0]
        child = os.fork()
        if child == 0:
            status = 1
            try:
                node.kill()
            except streamlog.ForkError:
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        assert node.is_running


def test_the_command_runs_a_cluster_until_a_signal() -> None:
    command = [sys.executable, "-m", "streamlog.broker", "--nodes", "3"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        bootstrap = process.stdout.readline().removeprefix("ready ").strip()
        with streamlog.connect(bootstrap) as client:
            assert len(client.admin.cluster().brokers) == 3
            client.admin.create_topic(TOPIC, replicas=3)
            send(client, b"x")
        process.send_signal(signal.SIGINT)
        _, log = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
        assert "ERROR" not in log
    with pytest.raises(ConnectError):
        streamlog.connect(bootstrap, timeout=1).admin.topics()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--data-dir", "data"], "cannot be used with"),
        (["--set", "broker.id=7"], "each node of a cluster in this process has its own"),
        (["--nodes", "17"], "a cluster has 1 to 16 nodes, not 17"),
    ],
)
def test_the_command_refuses_options_of_a_single_broker(options: list[str], words: str) -> None:
    nodes = [] if "--nodes" in options else ["--nodes", "3"]
    command = [sys.executable, "-m", "streamlog.broker", *nodes, *options]
    run = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert (run.returncode, run.stdout) == (2, "")
    assert words in run.stderr
