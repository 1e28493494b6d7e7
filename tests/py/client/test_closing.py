"""The end of a client delivers its producers' records, and its consumers leave their groups."""

import asyncio
from pathlib import Path

import pytest

import streamlog
from py.aio.conftest import Run, eventually
from py.support.broker import BrokerProcess
from streamlog import aio

COUNT = 100


def stored(client: streamlog.Client, topic: str) -> int:
    return client.topic(topic).end_offsets()[0] or 0


@pytest.fixture
def filled(client: streamlog.Client, topic: str) -> str:
    """A topic with one record."""
    client.admin.create_topic(topic, partitions=1)
    with client.producer() as producer:
        producer.send(topic, b"first")
    return topic


def test_closing_a_client_delivers_the_records_of_its_producers(
    shared_broker: BrokerProcess, client: streamlog.Client, filled: str
) -> None:
    with streamlog.connect(shared_broker.address) as other:
        producers = [other.producer(linger=60), other.producer(linger=60)]
        for producer in producers:
            producer.send_all(filled, [b"x"] * COUNT)
    assert stored(client, filled) == 1 + 2 * COUNT
    for producer in producers:
        producer.close()
        with pytest.raises(streamlog.Closed):
            producer.send(filled, b"late")


def test_a_client_may_be_closed_in_the_block_of_its_producer(
    shared_broker: BrokerProcess, client: streamlog.Client, filled: str
) -> None:
    other = streamlog.connect(shared_broker.address)
    with other.producer(linger=60) as producer:
        producer.send_all(filled, [b"x"] * COUNT)
        other.close()
    assert stored(client, filled) == 1 + COUNT


def test_closing_a_client_raises_the_failures_of_all_producers_once(
    broker: BrokerProcess, topic: str
) -> None:
    client = streamlog.connect(broker.address)
    producers = [client.producer(delivery_timeout=1) for _ in range(2)]
    for producer in producers:
        producer.send(topic, b"delivered").result()
    broker.kill()
    for producer in producers:
        producer.send_all(topic, [b"lost"] * 3)
    with pytest.raises(streamlog.DeliveryError, match="6 records were not delivered") as raised:
        client.close()
    assert sum(records for _, _, records, _ in raised.value.failures) == 6
    for producer in producers:
        producer.close()
    client.close()
    with pytest.raises(streamlog.Closed):
        client.admin.topics()


def test_an_error_of_the_block_has_a_note_about_undelivered_records(
    broker: BrokerProcess, topic: str
) -> None:
    def lose_and_fail() -> None:
        with streamlog.connect(broker.address) as client:
            producer = client.producer(delivery_timeout=1)
            producer.send(topic, b"delivered").result()
            broker.kill()
            producer.send(topic, b"lost")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as raised:
        lose_and_fail()
    [note] = raised.value.__notes__
    assert note.startswith("and when the client was closed: ")
    assert "1 records were not delivered" in note


def test_records_that_the_program_gave_up_are_not_reported_again(
    broker: BrokerProcess, topic: str
) -> None:
    with streamlog.connect(broker.address) as client:
        producer = client.producer()
        producer.send(topic, b"delivered").result()
        broker.kill()
        producer.send(topic, b"lost")
        with pytest.raises(streamlog.RequestTimeout):
            producer.close(timeout=0.1)
        producer.close()


def test_closing_a_client_takes_its_consumers_out_of_their_groups(
    shared_broker: BrokerProcess, client: streamlog.Client, filled: str
) -> None:
    with streamlog.connect(shared_broker.address) as other:
        consumer = other.consumer(filled, group=filled)
        assert [message.value for message in consumer.take(1)] == [b"first"]
        assert len(client.admin.group(filled).describe().members) == 1
    assert consumer.closed
    assert client.admin.group(filled).describe().members == []
    assert client.admin.group(filled).committed() == {(filled, 0): 1}


def test_closing_a_client_of_a_loop_delivers_the_records_of_its_producers(
    run: Run, client: streamlog.Client, topic: str
) -> None:
    async def main(other: aio.Client) -> None:
        producers = [other.producer(linger=60), other.producer(buffer="64 KiB")]
        for producer in producers:
            # The topic is not known yet, and the second buffer has no room for the last.
            for _ in range(6):
                producer.send(topic, bytes(10_000))

    run(main)
    assert stored(client, topic) == 12


def test_closing_a_client_of_a_loop_raises_the_failures_of_all_producers(
    broker: BrokerProcess, run: Run, topic: str
) -> None:
    async def main(_: aio.Client) -> None:
        client = await aio.connect(broker.address)
        producers = [client.producer(delivery_timeout=1) for _ in range(2)]
        for producer in producers:
            await producer.send(topic, b"delivered")
        broker.kill()
        for producer in producers:
            producer.send(topic, b"lost")
        with pytest.raises(streamlog.DeliveryError, match="2 records were not delivered"):
            await client.close()
        await client.close()

    run(main)


def test_closing_a_client_of_a_loop_waits_for_a_producer_that_is_being_closed(
    run: Run, client: streamlog.Client, topic: str
) -> None:
    async def main(other: aio.Client) -> None:
        producer = other.producer(buffer="64 KiB")
        for _ in range(6):
            producer.send(topic, bytes(10_000))
        closing = asyncio.ensure_future(producer.close())
        await asyncio.sleep(0)
        await other.close()
        await closing

    run(main)
    assert stored(client, topic) == 6


def test_a_client_of_a_loop_ends_though_nobody_waits_for_its_closing(
    broker: BrokerProcess, run: Run, topic: str
) -> None:
    def threads() -> int:
        return len(list(Path("/proc/self/task").iterdir()))

    async def main(_: aio.Client) -> None:
        before = threads()
        client = await aio.connect(broker.address)
        producers = [client.producer() for _ in range(50)]
        for producer in producers:
            await producer.send(topic, b"delivered")
        broker.kill()
        for producer in producers:
            producer.send(topic, b"lost")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await client.close()
        for producer in producers:
            with pytest.raises(streamlog.Closed):
                producer.send(topic, b"late")
        await eventually(lambda: threads() == before)

    run(main)


def test_a_flush_fails_if_another_task_has_its_records_dropped(
    broker: BrokerProcess, run: Run, topic: str
) -> None:
    async def main(_: aio.Client) -> None:
        client = await aio.connect(broker.address)
        producer = client.producer()
        await producer.send(topic, b"delivered")
        broker.kill()
        producer.send(topic, b"lost")
        flushing = asyncio.ensure_future(producer.flush())
        await asyncio.sleep(0)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await client.close()
        with pytest.raises(streamlog.Closed):
            await flushing

    run(main)
