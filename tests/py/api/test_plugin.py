"""The pytest fixtures that the package provides to other projects."""

import pytest

import streamlog

pytest_plugins = ["pytester"]

ORDERS = """
import pytest, streamlog

seen = []

def test_orders(streamlog_client, streamlog_topic, streamlog_broker):
    seen.append((streamlog_topic, streamlog_broker))
    streamlog_client.producer().send(streamlog_topic, b"x").result()
    assert next(streamlog_client.consumer(streamlog_topic)).value == b"x"

def test_the_broker_is_shared_and_the_topic_is_not(streamlog_topic, streamlog_broker):
    topic, broker = seen[0]
    assert streamlog_broker is broker
    assert streamlog_topic != topic

@pytest.mark.streamlog(num_partitions=3)
def test_settings(streamlog_broker, streamlog_client, streamlog_topic):
    assert streamlog_broker is not seen[0][1]
    streamlog_client.producer().send(streamlog_topic, b"x").result()
    assert streamlog_client.topic(streamlog_topic).partitions() == 3

def test_a_cluster(streamlog_cluster):
    streamlog_cluster.nodes[1].kill()
    assert [node.is_running for node in streamlog_cluster.nodes] == [True, False, True]

@pytest.mark.streamlog(nodes=2, num_partitions=3)
def test_settings_of_a_cluster(streamlog_cluster):
    with streamlog_cluster.connect() as client:
        client.producer().send("orders", b"x").result()
        assert (len(streamlog_cluster.nodes), client.topic("orders").partitions()) == (2, 3)

@pytest.mark.parametrize("name", ["a/b c", "x" * 300])
def test_any_name(streamlog_client, streamlog_topic, name):
    streamlog_client.producer().send(streamlog_topic, b"x").result()
"""


def test_the_plugin_is_found_without_an_import(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(ORDERS)
    run = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--strict-markers", "-W", "error")
    run.assert_outcomes(passed=7)


def test_a_client_of_the_fixture(
    streamlog_client: streamlog.Client, streamlog_topic: str, streamlog_broker: streamlog.Broker
) -> None:
    assert streamlog_broker.is_running
    streamlog_client.producer().send(streamlog_topic, b"x").result()
    assert next(streamlog_client.consumer(streamlog_topic)).value == b"x"
