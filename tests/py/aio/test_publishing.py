"""Producers on an event loop."""

import asyncio

import pytest

import streamlog
from py.aio.conftest import Run, eventually
from py.support.broker import BrokerProcess
from streamlog import aio


def test_a_ticket_is_awaited_for_where_the_record_is(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        async with client.producer() as producer:
            first = await producer.send(topic, b"x", key=b"k", headers={"h": b"1"}, partition=0)
            assert (first.topic, first.partition, first.offset) == (topic, 0, 0)
            second = producer.send(topic, None, partition=0)
            assert (await second.result(timeout=10)).offset == 1
            assert second.done()
            assert await second.exception() is None
        [one, two] = [message async for message in client.topic(topic).read()]
        assert (one.key, one.value, one.headers) == (b"k", b"x", (("h", b"1"),))
        assert two.value is None

    run(main)


def test_thousands_of_tasks_wait_for_their_deliveries(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        await client.admin.create_topic(topic, partitions=1)
        async with client.producer() as producer:

            async def publish(number: int) -> int | None:
                return (await producer.send(topic, b"%d" % number)).offset

            offsets = await asyncio.gather(*(publish(number) for number in range(3000)))
            assert offsets == list(range(3000))

    run(main)


def test_records_that_wait_for_their_topic_keep_their_order(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        async with client.producer() as producer:
            tickets = [producer.send(topic, b"%d" % n, partition=0) for n in range(100)]
            assert not tickets[0].done()
            offsets = [(await ticket).offset for ticket in tickets]
            assert offsets == list(range(100))

    run(main)


def test_send_all_waits_for_room_and_lets_others_run(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        values = [b"%d" % number for number in range(20_000)]
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0)
                ticks += 1

        ticking = asyncio.create_task(tick())
        async with client.producer(buffer="64 KiB", batch_size="16 KiB") as producer:
            assert await producer.send_all(topic, values, value=lambda value: value) == 20_000
            await producer.flush(timeout=20)
        ticking.cancel()
        assert ticks > 30
        got = [message.value or b"" async for message in client.topic(topic).read()]
        assert sorted(got) == sorted(values)

    run(main)


def test_a_sender_that_never_awaits_is_stopped_in_the_end(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        async with client.producer(buffer="64 KiB") as producer:
            sent = 0

            def send_on_and_on() -> None:
                nonlocal sent
                for _ in range(100_000):
                    producer.send(topic, bytes(1000), partition=0)
                    sent += 1

            with pytest.raises(streamlog.StreamlogError, match="await what send returns"):
                send_on_and_on()
            await producer.flush(timeout=20)
            assert (await client.topic(topic).partition(0).end_offset()) == sent

    run(main)


def test_a_program_s_own_partitioner_is_asked(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        await client.admin.create_topic(topic, partitions=3)
        async with client.producer(partitioner=lambda *_: 2) as producer:
            assert (await producer.send(topic, b"x")).partition == 2

    run(main)


def test_a_record_too_large_or_after_close_is_refused(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        producer = client.producer()
        with pytest.raises(streamlog.MessageTooLarge):
            producer.send(topic, bytes(2 << 20))
        await producer.close()
        await producer.close()
        with pytest.raises(streamlog.Closed):
            producer.send(topic, b"x")

    run(main)


def test_a_failed_delivery_cannot_be_missed(broker: BrokerProcess, topic: str) -> None:
    async def main() -> None:
        async with aio.connect(broker.address) as client:
            producer = client.producer(delivery_timeout=2, send_timeout=2)
            await producer.send(topic, b"delivered")
            broker.kill()
            lost = producer.send(topic, b"lost")
            unasked = producer.send(topic, b"lost too")
            unrouted = producer.send(f"{topic}-unknown", b"lost before it had a way")
            with pytest.raises(streamlog.StreamlogError):
                await lost
            with pytest.raises(streamlog.DeliveryError, match="not delivered") as raised:
                await producer.flush(20)
            assert sum(records for _, _, records, _ in raised.value.failures) == 2
            assert unasked.done()
            assert unrouted.done()

    asyncio.run(main())


def test_a_failure_after_its_waiter_gave_up_is_raised_by_flush(
    broker: BrokerProcess, topic: str
) -> None:
    async def main() -> None:
        async with aio.connect(broker.address) as client:
            producer = client.producer(delivery_timeout=2, send_timeout=1)
            await producer.send(topic, b"delivered")
            broker.kill()
            unrouted = producer.send(f"{topic}-unknown", b"lost before it had a way")
            with pytest.raises(streamlog.RequestTimeout):
                await unrouted.result(timeout=0.1)
            await eventually(unrouted.done, 60)
            with pytest.raises(streamlog.DeliveryError, match="1 records were not delivered"):
                await producer.flush(20)
            await producer.close(20)

    asyncio.run(main())


async def cancel_everything_else() -> None:
    """Cancels all other tasks, as handlers of shutdown do, and lets them end."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.sleep(0)


@pytest.mark.parametrize("waits_for", ["the topic", "room"])
def test_records_are_delivered_though_all_tasks_are_cancelled(
    run: Run, topic: str, waits_for: str
) -> None:
    async def main(client: aio.Client) -> None:
        await client.admin.create_topic(topic, partitions=1)
        async with client.producer(buffer="64 KiB") as producer:
            if waits_for == "room":
                await producer.send(topic, b"first")
            size = 10_000 if waits_for == "room" else 100
            tickets = [producer.send(topic, bytes(size)) for _ in range(10)]
            assert not tickets[-1].done()
            interrupted = asyncio.create_task(producer.flush())
            await asyncio.sleep(0)
            await cancel_everything_else()
            assert interrupted.cancelled()
            await producer.flush(20)
            offsets = [(await ticket.result(timeout=10)).offset for ticket in tickets]
            first = 1 if waits_for == "room" else 0
            assert offsets == list(range(first, first + 10))

    run(main)


def test_a_failure_that_was_reported_is_not_reported_again(
    broker: BrokerProcess, topic: str
) -> None:
    async def main() -> None:
        async with aio.connect(broker.address) as client:
            producer = client.producer(delivery_timeout=2, send_timeout=1)
            await producer.send(topic, b"delivered")
            broker.kill()
            unrouted = producer.send(f"{topic}-unknown", b"lost before it had a way")
            flushing = asyncio.ensure_future(producer.flush(20))
            assert isinstance(await unrouted.exception(), streamlog.StreamlogError)
            await flushing
            await producer.close(20)

    asyncio.run(main())


def test_a_flush_that_gives_up_leaves_the_failures_to_the_next(
    broker: BrokerProcess, topic: str
) -> None:
    async def main() -> None:
        async with aio.connect(broker.address) as client:
            producer = client.producer(delivery_timeout=8, send_timeout=1)
            await producer.send(topic, b"delivered")
            broker.kill()
            late = producer.send(topic, b"still on its way")
            unrouted = producer.send(f"{topic}-unknown", b"lost before it had a way")
            await eventually(unrouted.done, 60)
            with pytest.raises(streamlog.RequestTimeout, match="flushing"):
                await producer.flush(0.1)
            assert await late.exception() is not None
            with pytest.raises(streamlog.DeliveryError, match="1 records were not delivered"):
                await producer.flush(20)
            await producer.close(20)

    asyncio.run(main())


def test_an_error_of_the_block_is_not_hidden(broker: BrokerProcess, topic: str) -> None:
    async def main() -> None:
        async with aio.connect(broker.address) as client:
            await client.admin.create_topic(topic)

            async def lose_and_fail() -> None:
                async with client.producer(delivery_timeout=2) as producer:
                    broker.kill()
                    producer.send(topic, b"lost")
                    raise ZeroDivisionError

            with pytest.raises(ZeroDivisionError) as raised:
                await lose_and_fail()
            [note] = raised.value.__notes__
            assert "not delivered" in note

    asyncio.run(main())


def test_a_flush_that_takes_too_long_reports_it(broker: BrokerProcess, topic: str) -> None:
    async def main() -> None:
        async with aio.connect(broker.address) as client:
            producer = client.producer()
            await producer.send(topic, b"delivered")
            broker.kill()
            lost = producer.send(topic, b"lost")
            with pytest.raises(streamlog.RequestTimeout, match="flushing"):
                await producer.flush(timeout=0.2)
            with pytest.raises(streamlog.RequestTimeout, match="delivering"):
                await lost.result(timeout=0.2)
            with pytest.raises(streamlog.RequestTimeout, match="closing"):
                await producer.close(timeout=0.2)
            with pytest.raises(streamlog.Closed):
                await asyncio.wait_for(lost.result(), 5)

    asyncio.run(main())


def test_a_flush_cancelled_as_it_ends_leaves_the_failures_to_the_next(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        await client.admin.create_topic(topic, config={"max.message.bytes": 1000})
        producer = client.producer()
        producer.send(topic, bytes(5000))
        # The task is cancelled in the same iteration of the loop, and never sees the result.
        await eventually(producer._outbox.flush().done)
        with pytest.raises(streamlog.DeliveryError, match="1 records"):
            await producer.flush()
        await producer.close()

    run(main)


def test_only_the_records_that_the_broker_names_fail(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        await client.admin.create_topic(topic, partitions=1, config={"cleanup.policy": "compact"})
        keys = [None if number % 10 == 3 else b"%d" % number for number in range(100)]
        async with client.producer(linger=1.0) as producer:
            tickets = [producer.send(topic, b"x", key=key) for key in keys]
            told = await asyncio.gather(*tickets, return_exceptions=True)
        for key, outcome in zip(keys, told, strict=True):
            assert isinstance(outcome, streamlog.BrokerError) is (key is None), outcome
        offsets = [outcome.offset for outcome in told if not isinstance(outcome, BaseException)]
        assert offsets == list(range(90))
        assert [message.key async for message in client.topic(topic)] == list(filter(None, keys))

    run(main)


def test_a_dead_letter_that_is_refused_takes_no_others_with_it(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        keys = [b"a", None, b"b", None, b"c"]
        await client.admin.create_topic(topic, partitions=1)
        dead = f"{topic}.dead"
        await client.admin.create_topic(dead, partitions=1, config={"cleanup.policy": "compact"})
        async with client.producer() as producer:
            for key in keys:
                producer.send(topic, b"x", key=key)
        async with aio.WorkQueue(client, topic, group=topic) as queue:
            deliveries = [await anext(queue) for _ in keys]
            rejected = (delivery.reject("broken") for delivery in deliveries)
            told = await asyncio.gather(*rejected, return_exceptions=True)
        assert [isinstance(outcome, streamlog.BrokerError) for outcome in told] == [
            key is None for key in keys
        ]
        assert [letter.key async for letter in client.topic(dead)] == list(filter(None, keys))

    run(main)
