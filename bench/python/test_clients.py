"""Benchmarks of Python clients: streamlog's, librdkafka's (tuned), kafka-python and aiokafka.

A round publishes, or reads and touches, COUNT records of SIZE bytes in one partition; the result is
the ratio of two benchmarks of one run. All records are acknowledged, with acks=all. The topics
written to have write.caching, and memory is touched before each round, so that the clients are
measured, and not the disk and the host that they share.

    make bench-python
"""

import asyncio
import os
from collections import deque
from collections.abc import Callable
from itertools import count
from operator import itemgetter

import pyarrow.compute
import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka import TopicPartition as AioTopicPartition
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as KafkaTopicPartition
from pytest_benchmark.fixture import BenchmarkFixture
from servers import touch_memory

import streamlog
from streamlog import aio

COUNT = int(os.environ.get("BENCH_RECORDS", "1000000"))
SIZE = 200
VALUE = bytes(SIZE)
KEYS = [b"key %d" % number for number in range(1000)]
KEYED = [(KEYS[number % len(KEYS)], VALUE) for number in range(COUNT)]
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))

Work = Callable[[str, str], None]
_numbers = count()


def produce_streamlog(address: str, topic: str) -> None:
    """Sends each record by a call, and keeps its ticket."""
    with streamlog.connect(address) as client, client.producer(batch_size="1 MiB") as producer:
        for _ in range(COUNT):
            producer.send(topic, VALUE, partition=0)


def produce_streamlog_keyed(address: str, topic: str) -> None:
    """Sends each record with a key; leaving the block raises delivery errors."""
    with streamlog.connect(address) as client, client.producer(batch_size="1 MiB") as producer:
        for number in range(COUNT):
            producer.send(topic, VALUE, key=KEYS[number % len(KEYS)])


def produce_streamlog_keyed_asked(address: str, topic: str) -> None:
    """Sends each record with a key, and checks each ticket once its outcome is known."""
    open_tickets = deque[streamlog.Ticket]()
    asked = 0
    with streamlog.connect(address) as client, client.producer(batch_size="1 MiB") as producer:
        for number in range(COUNT):
            open_tickets.append(producer.send(topic, VALUE, key=KEYS[number % len(KEYS)]))
            if number % 1000 == 0:
                while open_tickets and open_tickets[0].done():
                    assert open_tickets.popleft().exception() is None
                    asked += 1
        producer.flush()
        assert all(ticket.exception() is None for ticket in open_tickets)
    assert asked + len(open_tickets) == COUNT


def produce_streamlog_keyed_kept(address: str, topic: str) -> None:
    """Sends each record with a key, keeps every ticket, and checks all of them at the end."""
    with streamlog.connect(address) as client, client.producer(batch_size="1 MiB") as producer:
        tickets = [producer.send(topic, VALUE, key=KEYS[n % len(KEYS)]) for n in range(COUNT)]
        producer.flush()
        assert all(ticket.exception() is None for ticket in tickets)


def produce_streamlog_send_all_keyed(address: str, topic: str) -> None:
    """Sends an iterable with keys; leaving the block raises delivery errors."""
    with streamlog.connect(address) as client, client.producer(batch_size="1 MiB") as producer:
        producer.send_all(topic, KEYED, key=itemgetter(0), value=itemgetter(1))


def produce_streamlog_send_all(address: str, topic: str) -> None:
    """Sends an iterable."""
    with streamlog.connect(address) as client, client.producer(batch_size="1 MiB") as producer:
        producer.send_all(topic, (VALUE for _ in range(COUNT)))


def produce_confluent(address: str, topic: str) -> None:
    """Tuned for throughput: full batches, an unlimited queue, no reports of success."""
    options = {
        "bootstrap.servers": address,
        "linger.ms": 5,
        "batch.size": 1 << 20,
        "batch.num.messages": 100_000,
        "queue.buffering.max.messages": 2 * COUNT,
        "delivery.report.only.error": True,
    }
    producer = Producer(options)
    for _ in range(COUNT):
        producer.produce(topic, VALUE, partition=0)
    assert producer.flush(60) == 0


def produce_confluent_keyed(address: str, topic: str) -> None:
    """Tuned in the same way, with a key and a report of each record."""
    options = {
        "bootstrap.servers": address,
        "linger.ms": 5,
        "batch.size": 1 << 20,
        "batch.num.messages": 100_000,
        "queue.buffering.max.messages": 2 * COUNT,
    }
    producer = Producer(options)
    reports = 0

    def report(error: object, _message: object) -> None:
        nonlocal reports
        assert error is None
        reports += 1

    for number in range(COUNT):
        producer.produce(topic, VALUE, key=KEYS[number % len(KEYS)], on_delivery=report)
        if number % 1000 == 0:
            producer.poll(0)
    assert producer.flush(60) == 0
    assert reports == COUNT


def produce_kafka_python(address: str, topic: str) -> None:
    """Uses full batches."""
    producer = KafkaProducer(bootstrap_servers=address, linger_ms=5, batch_size=1 << 20)
    for _ in range(COUNT):
        producer.send(topic, VALUE, partition=0)
    producer.flush(60)
    producer.close()


def consume_streamlog(address: str, topic: str) -> None:
    """Uses the blocking iterator, message by message."""
    size = 0
    with streamlog.connect(address) as client, client.consumer(topic) as consumer:
        for done, message in enumerate(consumer, start=1):
            size += len(message.value or b"")
            if done == COUNT:
                break
    assert size == COUNT * SIZE


def consume_streamlog_arrow(address: str, topic: str) -> None:
    """Uses record batches with all columns."""
    size = done = 0
    with streamlog.connect(address) as client, client.consumer(topic) as consumer:
        for batch in consumer.arrow():
            size += pyarrow.compute.sum(pyarrow.compute.binary_length(batch["value"])).as_py()
            done += batch.num_rows
            if done == COUNT:
                break
    assert size == COUNT * SIZE


def consume_confluent(address: str, topic: str) -> None:
    """Uses lists of messages, its fastest way."""
    options = {
        "bootstrap.servers": address,
        "group.id": "unused",
        "enable.auto.commit": False,
        "fetch.message.max.bytes": 8 << 20,
        "queued.max.messages.kbytes": 64 << 10,
        "check.crcs": True,
    }
    consumer = Consumer(options)
    consumer.assign([TopicPartition(topic, 0, 0)])
    size = done = 0
    while done < COUNT:
        for message in consumer.consume(10_000, timeout=10):
            size += len(message.value() or b"")
            done += 1
    consumer.close()
    assert size == COUNT * SIZE


def consume_kafka_python(address: str, topic: str) -> None:
    """Uses its iterator."""
    consumer = KafkaConsumer(bootstrap_servers=address, max_partition_fetch_bytes=8 << 20)
    consumer.assign([KafkaTopicPartition(topic, 0)])
    consumer.seek_to_beginning()
    size = 0
    for done, message in enumerate(consumer, start=1):
        size += len(message.value)
        if done == COUNT:
            break
    consumer.close()
    assert size == COUNT * SIZE


def consume_streamlog_aio(address: str, topic: str) -> None:
    """Uses the asynchronous iterator, message by message."""

    async def work() -> int:
        size = done = 0
        async with aio.connect(address) as client, client.consumer(topic) as consumer:
            async for message in consumer:
                size += len(message.value or b"")
                done += 1
                if done == COUNT:
                    break
        return size

    assert asyncio.run(work()) == COUNT * SIZE


def consume_aiokafka(address: str, topic: str) -> None:
    """Uses lists of messages, its fastest way."""

    async def work() -> int:
        consumer = AIOKafkaConsumer(
            bootstrap_servers=address,
            fetch_max_bytes=8 << 20,
            max_partition_fetch_bytes=8 << 20,
        )
        await consumer.start()
        partition = AioTopicPartition(topic, 0)
        consumer.assign([partition])
        await consumer.seek_to_beginning()
        size = done = 0
        while done < COUNT:
            for messages in (await consumer.getmany(timeout_ms=1000)).values():
                for message in messages:
                    size += len(message.value)
                done += len(messages)
        await consumer.stop()
        return size

    assert asyncio.run(work()) == COUNT * SIZE


@pytest.fixture(scope="module")
def filled(address: str) -> str:
    """A topic with COUNT records to read."""
    produce_streamlog(address, "filled")
    return "filled"


@pytest.mark.timeout(600)
@pytest.mark.benchmark(group="produce")
@pytest.mark.parametrize(
    "produce",
    [
        produce_streamlog,
        produce_streamlog_keyed,
        produce_streamlog_keyed_asked,
        produce_streamlog_keyed_kept,
        produce_streamlog_send_all,
        produce_streamlog_send_all_keyed,
        produce_confluent,
        produce_confluent_keyed,
        produce_kafka_python,
    ],
)
def test_produce(benchmark: BenchmarkFixture, address: str, produce: Work) -> None:
    def fresh_topic() -> tuple[tuple[str, str], dict[str, object]]:
        topic = f"produce-{next(_numbers)}"
        with streamlog.connect(address) as client:
            config = {"write.caching": True}
            client.admin.create_topic(topic, partitions=1, config=config)
        touch_memory()
        return (address, topic), {}

    run: Callable[..., object] = benchmark.pedantic
    run(produce, setup=fresh_topic, rounds=ROUNDS, warmup_rounds=1)


@pytest.mark.timeout(600)
@pytest.mark.benchmark(group="consume")
@pytest.mark.parametrize(
    "consume",
    [
        consume_streamlog,
        consume_streamlog_aio,
        consume_streamlog_arrow,
        consume_confluent,
        consume_kafka_python,
        consume_aiokafka,
    ],
)
def test_consume(benchmark: BenchmarkFixture, address: str, filled: str, consume: Work) -> None:
    arguments = (address, filled)
    run: Callable[..., object] = benchmark.pedantic
    run(consume, args=arguments, rounds=ROUNDS, warmup_rounds=1)
