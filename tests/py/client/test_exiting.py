"""A program's open objects are closed at its end, also if its module refers to itself."""

import subprocess
import sys

import pytest

from py.support.broker import BrokerProcess
from streamlog import Client

HEAD = """
import asyncio, sys, streamlog, streamlog.aio

def same(given):
    return given

address, topic = sys.argv[1:]
"""
CONNECTED = "client = streamlog.connect(address)\n"
CONSUMERS = {
    "alone": "consumer = client.consumer(topic, group=topic)",
    "value": "consumer = client.consumer(topic, group=topic, value=same)",
    "on_assign": "consumer = client.consumer(topic, group=topic, on_assign=same)",
    "work queue": "consumer = streamlog.WorkQueue(client, topic, group=topic, value=same)",
}
PRODUCERS = {
    "alone": "producer = client.producer(linger=60)",
    "value": "producer = client.producer(linger=60, value=same)",
    "partitioner": "producer = client.producer(linger=60, partitioner=lambda *_: same(0))",
}


def run(script: str, broker: BrokerProcess, topic: str) -> str:
    """Runs a program and returns its standard error."""
    command = [sys.executable, "-c", script, broker.address, topic]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=25, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stderr


@pytest.fixture
def filled(client: Client, topic: str) -> str:
    """A topic with one record."""
    client.admin.create_topic(topic, partitions=1)
    with client.producer() as producer:
        producer.send(topic, b"first")
    return topic


@pytest.mark.parametrize("consumer", CONSUMERS.values(), ids=CONSUMERS)
def test_a_member_leaves_its_group_at_the_end_of_its_program(
    shared_broker: BrokerProcess, client: Client, filled: str, consumer: str
) -> None:
    said = run(f"{HEAD}{CONNECTED}{consumer}\nnext(iter(consumer))\n", shared_broker, filled)
    assert said == ""
    assert client.admin.group(filled).describe().members == []


def test_a_member_on_a_loop_leaves_its_group_at_the_end_of_its_program(
    shared_broker: BrokerProcess, client: Client, filled: str
) -> None:
    script = f"""{HEAD}
async def main():
    global client, consumer
    client = await streamlog.aio.connect(address)
    consumer = await client.consumer(topic, group=topic, value=same)
    await anext(consumer)

asyncio.run(main())
"""
    assert run(script, shared_broker, filled) == ""
    assert client.admin.group(filled).describe().members == []


@pytest.mark.parametrize("producer", PRODUCERS.values(), ids=PRODUCERS)
def test_records_are_delivered_at_the_end_of_the_program(
    shared_broker: BrokerProcess, client: Client, filled: str, producer: str
) -> None:
    send = "producer.send_all(topic, [b'x'] * 100)"
    assert run(f"{HEAD}{CONNECTED}{producer}\n{send}\n", shared_broker, filled) == ""
    assert client.topic(filled).end_offsets() == {0: 101}


def test_records_that_fail_at_the_end_of_the_program_are_reported(
    shared_broker: BrokerProcess, client: Client, filled: str
) -> None:
    client.admin.set_settings({"max.message.bytes": 100}, topic=filled)
    send = "producer.send(topic, bytes(1000))"
    said = run(f"{HEAD}{CONNECTED}{PRODUCERS['value']}\n{send}\n", shared_broker, filled)
    assert "DeliveryError: 1 records were not delivered" in said


def test_a_forked_child_does_not_close_the_consumers_of_its_parent(
    shared_broker: BrokerProcess, client: Client, filled: str
) -> None:
    script = f"""{HEAD}{CONNECTED}{CONSUMERS["value"]}
import os, warnings
# From 3.12 on, Python warns of each fork of a process with threads.
warnings.filterwarnings("ignore", "This process", DeprecationWarning)
next(consumer)
child = os.fork()
if child:
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(client.admin.group(topic).describe().members) == 1
"""
    assert run(script, shared_broker, filled) == ""
    assert client.admin.group(filled).describe().members == []
