"""Waits let other threads run, end in time, and lose no message."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import streamlog
from py.support.broker import BrokerProcess, until
from py.support.signals import interrupted, signalled_while_waiting
from py.support.timing import quickest
from streamlog import Client, Consumer

AT_ONCE = 0.5
"""A limit in seconds, for waits that would otherwise last a minute or longer."""

INTERRUPTED = """
import sys, streamlog
client = streamlog.connect(sys.argv[1])
print("waiting", flush=True)
try:
    {wait}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""

WAITS = {
    "iterator": "next(client.consumer(sys.argv[2], create_topics=True))",
    "take": "list(client.consumer(sys.argv[2], create_topics=True).take(1, timeout=60))",
    "result": "p = client.producer(); sys.stdin.readline(); p.send(sys.argv[2], b'x').result()",
}


DELIVERY_SECONDS = 2.0
"""Long enough for a running broker, and short enough to wait for when it is gone."""


def interrupt(address: str, topic: str, wait: str) -> float:
    """Returns the seconds from SIGINT to the end of a waiting process."""
    code = INTERRUPTED.format(wait=wait)
    command = [sys.executable, "-c", code, address, topic]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        return interrupted(process)


def test_ctrl_c_ends_a_blocked_iterator_at_once(shared_broker: BrokerProcess, topic: str) -> None:
    address, wait = shared_broker.address, WAITS["iterator"]
    assert quickest(lambda: interrupt(address, topic, wait), AT_ONCE) < AT_ONCE


def test_ctrl_c_ends_a_bounded_wait_at_once(shared_broker: BrokerProcess, topic: str) -> None:
    address, wait = shared_broker.address, WAITS["take"]
    assert quickest(lambda: interrupt(address, topic, wait), AT_ONCE) < AT_ONCE


def interrupt_delivery(broker: BrokerProcess, topic: str) -> float:
    """Returns the same as `interrupt`, for a wait for a broker that does not answer."""
    code = INTERRUPTED.format(wait=WAITS["result"])
    command = [sys.executable, "-c", code, broker.address, topic]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        with broker.silent():
            process.stdin.write("\n")
            process.stdin.flush()
            seconds = interrupted(process)
        process.kill()
    return seconds


def test_ctrl_c_ends_a_wait_for_a_delivery_at_once(broker: BrokerProcess, topic: str) -> None:
    with streamlog.connect(broker.address) as client:
        client.admin.create_topic(topic)
    assert quickest(lambda: interrupt_delivery(broker, topic), AT_ONCE) < AT_ONCE


def test_a_handler_that_raises_nothing_lets_the_wait_go_on(client: Client, topic: str) -> None:
    calls: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, _: calls.append(number))
    try:
        signalled_while_waiting(client, topic)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert calls == [signal.SIGUSR1]


def test_a_closed_consumer_delivers_nothing(client: Client, topic: str) -> None:
    with client.producer() as producer:
        producer.send_all(topic, [b"%d" % number for number in range(10)])
    consumer = client.consumer(topic)
    assert next(consumer).value == b"0"
    consumer.close()
    assert next(consumer, None) is None


def test_closing_in_another_thread_ends_the_loop(client: Client, topic: str) -> None:
    seen: list[bytes | None] = []

    def loop(consumer: Consumer) -> None:
        seen.extend(message.value for message in consumer)

    consumer = client.consumer(topic, create_topics=True)
    thread = threading.Thread(target=loop, args=(consumer,))
    thread.start()
    with client.producer() as producer:
        producer.send(topic, b"one").result(10)
    until(lambda: seen == [b"one"])
    consumer.close()
    thread.join(5)
    assert not thread.is_alive()


def test_closing_in_a_signal_handler_ends_the_loop(client: Client, topic: str) -> None:
    consumer = client.consumer(topic, create_topics=True)
    before = signal.signal(signal.SIGUSR1, lambda *_: consumer.close())
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1))
    timer.start()
    try:
        assert list(consumer) == []
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)


def test_other_threads_run_while_one_waits(client: Client, topic: str) -> None:
    producer = client.producer()

    def tick() -> None:
        for _ in range(50):
            time.sleep(0.001)
        producer.send(topic, b"after fifty ticks")

    thread = threading.Thread(target=tick)
    with client.consumer(topic, create_topics=True) as consumer:
        thread.start()
        assert [message.value for message in consumer.take(1, timeout=20)] == [b"after fifty ticks"]
    thread.join()


def test_a_take_ends_at_its_deadline(client: Client, topic: str) -> None:
    with client.producer() as producer:
        producer.send_all(topic, [b"1", b"2"])
    with client.consumer(topic) as consumer:
        begin = time.monotonic()
        assert len(list(consumer.take(10, timeout=2.0))) == 2
        assert 1.9 < time.monotonic() - begin < 10


def test_a_small_buffer_slows_the_sender_and_loses_nothing(client: Client, topic: str) -> None:
    values = [str(i).encode().rjust(1000) for i in range(5000)]
    with client.producer(buffer="64 KiB", batch_size="16 KiB") as producer:
        assert producer.send_all(topic, values) == len(values)
    with client.consumer(topic) as consumer:
        got = [message.value for message in consumer.take(len(values), timeout=20)]
    assert sorted(got, key=lambda value: value or b"") == values


def test_a_failed_delivery_cannot_be_missed(broker: BrokerProcess, topic: str) -> None:
    client = streamlog.connect(broker.address)
    producer = client.producer(delivery_timeout=DELIVERY_SECONDS)
    producer.send(topic, b"delivered").result(10)
    broker.kill()
    lost = producer.send(topic, b"lost")
    unasked = producer.send(topic, b"lost too")
    with pytest.raises(streamlog.StreamlogError):
        lost.result(10)
    with pytest.raises(streamlog.DeliveryError, match="not delivered") as raised:
        producer.flush(10)
    assert sum(records for _, _, records, _ in raised.value.failures) == 1
    assert unasked.done()
    client.close()


def test_a_silent_broker_fails_a_delivery_when_its_time_is_over(
    broker: BrokerProcess, topic: str
) -> None:
    with streamlog.connect(broker.address) as client:
        producer = client.producer(delivery_timeout=DELIVERY_SECONDS)
        producer.send(topic, b"delivered").result(10)
        with broker.silent():
            begin = time.monotonic()
            with pytest.raises(streamlog.RequestTimeout, match="no answer"):
                producer.send(topic, b"unanswered").result(60)
            assert time.monotonic() - begin < 5 * DELIVERY_SECONDS


def test_leaving_a_block_raises_what_was_not_delivered(broker: BrokerProcess, topic: str) -> None:
    with streamlog.connect(broker.address) as client:
        client.admin.create_topic(topic)

        def lose() -> None:
            with client.producer(delivery_timeout=DELIVERY_SECONDS) as producer:
                producer.send(topic, b"delivered").result(10)
                broker.kill()
                producer.send(topic, b"lost")

        with pytest.raises(streamlog.DeliveryError):
            lose()


def test_an_error_of_the_block_is_not_hidden(broker: BrokerProcess, topic: str) -> None:
    with streamlog.connect(broker.address) as client:
        client.admin.create_topic(topic)

        def lose_and_fail() -> None:
            with client.producer(delivery_timeout=DELIVERY_SECONDS) as producer:
                broker.kill()
                producer.send(topic, b"lost")
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError) as raised:
            lose_and_fail()
    [note] = raised.value.__notes__
    assert "not delivered" in note


def test_a_producer_that_is_forgotten_loses_nothing(client: Client, topic: str) -> None:
    assert client.producer(linger=60).send(topic, b"asked", partition=0).result(10).offset == 0
    client.producer(linger=60).send(topic, b"not asked", partition=0)
    with client.consumer(topic) as consumer:
        assert [m.value for m in consumer.take(2, timeout=10)] == [b"asked", b"not asked"]


def test_a_program_that_ends_loses_nothing(
    shared_broker: BrokerProcess, client: Client, topic: str
) -> None:
    code = """
import sys, streamlog
producer = streamlog.connect(sys.argv[1]).producer(linger=60)
producer.send(sys.argv[2], b"at the end")
"""
    subprocess.run([sys.executable, "-c", code, shared_broker.address, topic], check=True)
    with client.consumer(topic) as consumer:
        assert next(consumer).value == b"at the end"


def test_a_restarted_broker_is_found_again(broker: BrokerProcess, topic: str) -> None:
    with streamlog.connect(broker.address) as client, client.producer() as producer:
        producer.send(topic, b"before", partition=0).result(10)
        consumer = client.consumer(topic)
        assert next(consumer).value == b"before"
        broker.kill()
        ticket = producer.send(topic, b"after", partition=0)
        broker.start()
        assert ticket.result(20).offset == 1
        assert [message.value for message in consumer.take(1, timeout=20)] == [b"after"]


def _use_in_child(
    client: Client, producer: streamlog.Producer, consumer: Consumer, topic: str
) -> None:
    """Runs in a forked child, which exits with 0 on success."""
    with pytest.raises(streamlog.ForkError, match="forked"):
        next(consumer)
    producer.flush()
    producer.send(topic, b"the child's").result(10)
    assert topic in client.admin.topics()
    with client.consumer(topic) as own:
        assert b"the child's" in {message.value for message in own.until_end()}
    producer.close()
    client.close()


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_has_its_own_connections_and_its_parents_keep_theirs(
    client: Client, topic: str
) -> None:
    consumer = client.consumer(topic, create_topics=True)
    producer = client.producer(linger=3.0)
    waiting = producer.send(topic, b"the parent's", partition=0)
    fork = multiprocessing.get_context("fork")
    child = fork.Process(target=_use_in_child, args=(client, producer, consumer, topic))
    child.start()
    child.join(20)
    assert child.exitcode == 0
    assert waiting.result(10).offset is not None
    producer.close()
    values = [message.value for message in consumer.take(2, timeout=10)]
    assert sorted(value or b"" for value in values) == [b"the child's", b"the parent's"]
