"""Leaving blocks and programs while the broker does not answer: how long it takes, what is told."""

import asyncio
import signal
import subprocess
import sys
import time

import pytest

import streamlog
from py.client.test_exiting import CONNECTED, HEAD, run
from py.support.broker import BrokerProcess
from streamlog import Client, aio

GROUPS = 3
MEMBERS_SECONDS = 9.0
"""More than the time limit of leaving a group, less than the limits of two groups together."""
DROPPED = r"closing the producer was not done after .*: 7 records were not delivered"


def test_closing_a_producer_says_how_many_records_it_drops(
    broker: BrokerProcess, topic: str
) -> None:
    with streamlog.connect(broker.address) as client:
        producer = client.producer()
        producer.send(topic, b"delivered").result()
        with broker.silent():
            producer.send_all(topic, [b"x"] * 7)
            with pytest.raises(streamlog.RequestTimeout, match=DROPPED) as raised:
                producer.close(timeout=0.2)
    assert isinstance(raised.value.last_error, streamlog.DeliveryError)
    assert raised.value.last_error.unlisted == 7


def test_closing_a_producer_of_a_loop_says_how_many_records_it_drops(
    broker: BrokerProcess, topic: str
) -> None:
    async def main() -> None:
        async with aio.connect(broker.address) as client:
            producer = client.producer()
            await producer.send(topic, b"delivered")
            with broker.silent():
                for _ in range(5):
                    producer.send(topic, b"x")
                for _ in range(2):
                    producer.send(f"{topic}-unknown", b"x")
                with pytest.raises(streamlog.RequestTimeout, match=DROPPED) as raised:
                    await producer.close(timeout=0.2)
            assert isinstance(raised.value.last_error, streamlog.DeliveryError)

    asyncio.run(main())


def _members(client: Client, topic: str) -> list[streamlog.Consumer]:
    """Returns members of several groups, each with a message."""
    client.producer().send(topic, b"first").result()
    consumers = [client.consumer(topic, group=f"{topic}-{n}") for n in range(GROUPS)]
    for consumer in consumers:
        next(consumer)
    return consumers


def test_all_members_of_a_client_leave_their_groups_within_one_time_limit(
    broker: BrokerProcess, topic: str
) -> None:
    client = streamlog.connect(broker.address)
    consumers = _members(client, topic)
    with broker.silent():
        begin = time.monotonic()
        client.close()
        assert time.monotonic() - begin < MEMBERS_SECONDS
    assert all(consumer.closed for consumer in consumers)


def test_all_members_of_a_client_of_a_loop_leave_within_one_time_limit(
    broker: BrokerProcess, topic: str
) -> None:
    async def main() -> None:
        client = await aio.connect(broker.address)
        async with client.producer() as producer:
            await producer.send(topic, b"first")
        consumers = [client.consumer(topic, group=f"{topic}-{n}") for n in range(GROUPS)]
        for consumer in consumers:
            await anext(consumer)
        with broker.silent():
            begin = time.monotonic()
            await client.close()
            assert time.monotonic() - begin < MEMBERS_SECONDS

    asyncio.run(main())


def test_records_of_a_topic_that_is_not_found_wait_once_and_not_one_after_another(
    broker: BrokerProcess, topic: str
) -> None:
    async def main() -> None:
        async with aio.connect(broker.address) as client:
            producer = client.producer(send_timeout=1)
            await producer.send(topic, b"known")
            with broker.silent():
                begin = time.monotonic()
                tickets = [producer.send(f"{topic}-unknown", b"x") for _ in range(5)]
                tickets.append(producer.send(topic, b"of another topic"))
                for ticket in tickets[:5]:
                    with pytest.raises(streamlog.RequestTimeout, match="finding a topic"):
                        await ticket
                assert time.monotonic() - begin < 3
            assert (await tickets[5]).offset == 1

    asyncio.run(main())


HELD = {
    "a producer": "with client.producer() as producer:",
    "a client": "with client:\n    producer = client.producer()\n    if True:",
    "a program": "producer = client.producer()\nif True:",
}
"""What is left by Ctrl-C, and the head of its block."""


@pytest.mark.parametrize("held", HELD)
def test_ctrl_c_in_a_flush_does_not_wait_for_long_when_the_block_is_left(
    broker: BrokerProcess, topic: str, held: str
) -> None:
    head = HELD[held]
    deep = " " * (len(head.splitlines()[-1]) - len(head.splitlines()[-1].lstrip()) + 4)
    body = "\n".join(
        deep + line
        for line in (
            "producer.send(topic, b'delivered').result()",
            "print('connected', flush=True)",
            "sys.stdin.readline()",
            "producer.send_all(topic, [b'x'] * 7)",
            "print('flushing', flush=True)",
            "producer.flush()",
        )
    )
    script = f"{HEAD}{CONNECTED}{head}\n{body}\n"
    command = [sys.executable, "-c", script, broker.address, topic]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stdout.readline() == "connected\n"
            with broker.silent():
                process.stdin.write("\n")
                process.stdin.flush()
                assert process.stdout.readline() == "flushing\n"
                time.sleep(0.3)
                process.send_signal(signal.SIGINT)
                said = process.stderr.read()
                process.wait(30)
        finally:
            process.kill()
    assert "KeyboardInterrupt" in said
    assert "7 records were not delivered" in said


@pytest.fixture
def filled(client: Client, topic: str) -> str:
    """A topic with one record."""
    client.admin.create_topic(topic, partitions=1)
    client.producer().send(topic, b"first").result()
    return topic


def test_a_forked_child_may_exit_within_the_block_of_its_parents_consumer(
    shared_broker: BrokerProcess, filled: str
) -> None:
    script = f"""{HEAD}{CONNECTED}
import os, warnings
# From 3.12 on, Python warns of each fork of a process with threads.
warnings.filterwarnings("ignore", "This process", DeprecationWarning)
with client.consumer(topic, group=topic) as consumer:
    next(consumer)
    child = os.fork()
    if child == 0:
        sys.exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(client.admin.group(topic).describe().members) == 1
"""
    assert run(script, shared_broker, filled) == ""


def test_exit_handlers_that_a_program_registers_may_still_send(
    shared_broker: BrokerProcess, client: Client, filled: str
) -> None:
    script = f"""{HEAD}{CONNECTED}
import atexit
atexit.register(lambda: producer.send(topic, b"at exit"))
producer = client.producer(linger=60, value=same)
"""
    assert run(script, shared_broker, filled) == ""
    assert client.topic(filled).end_offsets() == {0: 2}
