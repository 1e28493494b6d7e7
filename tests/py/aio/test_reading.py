"""Consumers on an event loop, and reading topics without a consumer."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

import streamlog
from py.aio.conftest import Run, eventually, fill
from streamlog import aio


def test_a_consumer_iterates_and_waits_for_more(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        values = await fill(client, topic, 3)
        async with client.consumer(topic) as consumer, client.producer() as producer:
            got = []
            async for message in consumer:
                got.append(message.value)
                if len(got) == 3:
                    producer.send(topic, b"late")
                if message.value == b"late":
                    break
            assert got == [*values, b"late"]

    run(main)


def test_bounded_forms_end_by_themselves(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        values = await fill(client, topic, 100, partitions=3)
        async with client.consumer(topic) as consumer:
            some = [message.value async for message in consumer.take(30)]
            rest = [message.value async for message in consumer.until_end()]
            assert {*some, *rest} == set(values)
            assert len(some) == 30
            assert [message async for message in consumer.take(1, timeout=0.05)] == []
            assert set(consumer.lag().values()) == {0}

    run(main)


def test_batches_are_full_or_as_old_as_allowed(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        values = await fill(client, topic, 250)
        async with client.consumer(topic) as consumer:
            got: list[bytes | None] = []
            sizes = []
            async for batch in consumer.batches(max_messages=100, max_wait=0.1):
                sizes.append(len(batch))
                got += [message.value for message in batch]
                if len(got) == len(values):
                    break
            assert got == values
            assert max(sizes) == 100

    run(main)


def test_streams_divide_the_partitions(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        values = await fill(client, topic, 40, partitions=4)
        got: list[list[bytes]] = [[], []]

        async def work(stream: aio.Stream, mine: list[bytes]) -> None:
            async for message in stream:
                mine.append(message.value or b"")

        async with client.consumer(topic) as consumer:
            pairs = zip(consumer.streams(2), got, strict=True)
            tasks = [asyncio.create_task(work(*pair)) for pair in pairs]
            await eventually(lambda: sum(map(len, got)) == len(values))
            await consumer.close()
            await asyncio.gather(*tasks)
        assert sorted(got[0] + got[1]) == sorted(values)
        assert len(got[0]) == len(got[1]) == 20

    run(main)


def test_many_tasks_take_each_message_once(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        values = await fill(client, topic, 500)
        got: list[bytes] = []

        async def work(consumer: aio.Consumer) -> None:
            async for message in consumer:
                got.append(message.value or b"")
                await asyncio.sleep(0)

        async with client.consumer(topic) as consumer:
            tasks = [asyncio.create_task(work(consumer)) for _ in range(50)]
            await eventually(lambda: len(got) >= len(values))
            await consumer.close()
            await asyncio.gather(*tasks)
        assert sorted(got) == sorted(values)

    run(main)


def test_seeking_pausing_and_rewinding(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        await fill(client, topic, 20)
        async with client.consumer(topic) as consumer:
            assert [m.offset async for m in consumer.take(20)] == list(range(20))
            assert consumer.assignment() == [(topic, 0)]
            assert consumer.positions() == {(topic, 0): 20}
            consumer.seek(15)
            assert (await anext(consumer)).offset == 15
            await consumer.rewind(messages=6)
            assert (await anext(consumer)).offset == 10
            await consumer.rewind(timedelta(hours=1))
            assert (await anext(consumer)).offset == 0
            consumer.pause()
            assert [m async for m in consumer.take(1, timeout=0.1)] == []
            consumer.resume()
            assert (await anext(consumer)).offset == 1

    run(main)


def test_an_event_ends_the_loop_after_the_current_message(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        await fill(client, topic, 3)
        stop = asyncio.Event()
        async with client.consumer(topic, stop=stop) as consumer:
            count = 0
            async with asyncio.timeout(10):
                async for _ in consumer:
                    count += 1
                    if count == 3:
                        asyncio.get_running_loop().call_later(0.05, stop.set)
            assert count == 3

    run(main)


@pytest.mark.parametrize("is_split", [False, True])
def test_an_event_ends_the_loop_though_all_tasks_were_cancelled(
    run: Run, topic: str, is_split: bool
) -> None:
    async def main(client: aio.Client) -> None:
        await fill(client, topic, 1)
        stop = asyncio.Event()
        async with client.consumer(topic, stop=stop) as consumer:
            messages = consumer.streams(1)[0] if is_split else consumer
            await anext(messages)

            async def cancel_others(reader: "asyncio.Task[None] | None") -> None:
                others = asyncio.all_tasks() - {asyncio.current_task(), reader}
                for task in others:
                    task.cancel()
                await asyncio.gather(*others, return_exceptions=True)
                stop.set()

            canceller = asyncio.create_task(cancel_others(asyncio.current_task()))
            async with asyncio.timeout(10):
                assert [message async for message in messages] == []
            await canceller

    run(main)


def test_an_event_set_in_the_loop_ends_it_at_once(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        await fill(client, topic, 100)
        stop = asyncio.Event()
        async with client.consumer(topic, group=topic, stop=stop) as consumer:
            async for message in consumer:
                if message.offset == 9:
                    stop.set()
            assert message.offset == 9
        assert await client.admin.group(topic).committed() == {(topic, 0): 10}

    run(main)


def test_an_event_of_threads_is_refused(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        with pytest.raises(streamlog.ConfigError, match=r"stop: expected an asyncio\.Event, not"):
            await client.consumer(topic, stop=threading.Event())  # type: ignore[call-overload]

    run(main)


def test_closing_ends_a_waiting_loop(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        consumer = await client.consumer(topic, create_topics=True)
        waiting = asyncio.ensure_future(anext(consumer, None))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        await consumer.close()
        assert await waiting is None
        assert consumer.closed
        await consumer.close()

    run(main)


def test_closing_the_client_ends_its_loops(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        waiting = asyncio.ensure_future(anext(client.consumer(topic, create_topics=True), None))
        await asyncio.sleep(0.2)
        await client.close()
        assert await asyncio.wait_for(waiting, 5) is None

    run(main)


def test_a_cancelled_wait_loses_no_message(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        got: list[bytes | None] = []
        async with (
            client.consumer(topic, create_topics=True) as consumer,
            client.producer() as producer,
        ):

            async def publish() -> None:
                for number in range(200):
                    producer.send(topic, b"%d" % number)
                    await asyncio.sleep(0.001)

            publishing = asyncio.create_task(publish())
            async with asyncio.timeout(20):
                while len(got) < 200:
                    task = asyncio.create_task(anext(consumer))
                    await asyncio.sleep(0.0005)
                    task.cancel()
                    await asyncio.wait([task])
                    if not task.cancelled():
                        got.append(task.result().value)
            await publishing
        assert got == [b"%d" % number for number in range(200)]

    run(main)


def test_a_cancelled_batch_is_read_again(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        values = await fill(client, topic, 10)
        async with client.consumer(topic) as consumer:
            batches = consumer.batches(max_messages=100, max_wait=60)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(batches), 0.3)
            assert [m.value async for m in consumer.take(10, timeout=10)] == values

    run(main)


def test_values_are_decoded_and_dead_letters_kept(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        dead = f"{topic}.dead"
        async with client.producer(value=json.dumps) as producer:
            producer.send(topic, {"id": 1}, partition=0)
        async with client.producer() as producer:
            producer.send(topic, b"{", partition=0)
            producer.send(topic, b"[2]", partition=0)
        on_error = streamlog.DeadLetters(dead)
        async with client.consumer(topic, value=json.loads, on_error=on_error) as consumer:
            got = [message.value async for message in consumer.take(2, timeout=10)]
            assert got == [{"id": 1}, [2]]
        [letter] = [message async for message in client.topic(dead).read()]
        assert letter.value == b"{"
        assert dict(letter.headers)["streamlog-topic"] == topic.encode()
        async with client.consumer(topic, value=json.loads) as consumer:
            assert (await anext(consumer)).value == {"id": 1}
            with pytest.raises(streamlog.DecodeError):
                await anext(consumer)
            assert (await anext(consumer)).value == [2]

    run(main)


async def fill_mixed(client: aio.Client, topic: str) -> str:
    """Publishes three values, the second not a number; the dead letter topic is too small."""
    dead = f"{topic}.dead"
    await client.admin.create_topic(topic, partitions=1)
    await client.admin.create_topic(dead, config={"max.message.bytes": 100})
    async with client.producer() as producer:
        for value in (b"1", b"no number " * 20, b"3"):
            producer.send(topic, value)
    return dead


def test_batches_hold_all_that_can_be_decoded(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        await fill_mixed(client, topic)
        group = client.admin.group(topic)
        async with client.consumer(topic, group=topic, value=int, commit="manual") as consumer:
            batches = consumer.batches(max_messages=10)
            assert [message.value for message in await anext(batches)] == [1]
            await consumer.commit()
            assert await group.committed() == {(topic, 0): 1}
            assert consumer.positions() == {(topic, 0): 1}
            with pytest.raises(streamlog.DecodeError, match="offset 1 of"):
                await anext(batches)
            assert [message.value for message in await anext(batches)] == [3]
            assert consumer.positions() == {(topic, 0): 3}

    run(main)


@pytest.mark.parametrize("form", ["consumer", "batches", "stream", "until_end"])
def test_a_message_is_not_done_before_its_dead_letter_is_published(
    run: Run, topic: str, form: str
) -> None:
    forms: dict[str, Callable[[aio.Consumer[Any]], AsyncIterator[object]]] = {
        "consumer": lambda consumer: consumer,
        "batches": lambda consumer: consumer.batches(max_messages=10, max_wait=2.0),
        "stream": lambda consumer: consumer.streams(1)[0],
        "until_end": lambda consumer: consumer.until_end(),
    }

    async def main(client: aio.Client) -> None:
        dead = await fill_mixed(client, topic)
        group = client.admin.group(topic)
        made = partial(
            client.consumer, topic, group=topic, value=int, on_error=streamlog.DeadLetters(dead)
        )
        async with made() as consumer:
            parts = forms[form](consumer)
            await anext(parts)
            for _ in range(2):
                with pytest.raises(streamlog.MessageTooLarge) as caught:
                    await anext(parts)
                await consumer.commit()
                assert await group.committed() == {(topic, 0): 1}
                assert consumer.positions() == {(topic, 0): 1}
                assert "offset 1 of" in caught.value.__notes__[0]
        assert await group.committed() == {(topic, 0): 1}
        async with made() as consumer:
            parts = forms[form](consumer)
            with pytest.raises(streamlog.MessageTooLarge):
                await anext(parts)
            await client.admin.set_settings({"max.message.bytes": 10_000}, topic=dead)
            await anext(parts)
            assert consumer.positions() == {(topic, 0): 3}
        letters = [letter.value async for letter in client.topic(dead)]
        assert letters == [b"no number " * 20]

    run(main)


def test_a_topic_is_read_in_both_directions(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        values = await fill(client, topic, 30, partitions=2)
        read = client.topic(topic)
        assert await read.partitions() == 2
        assert sorted([m.value or b"" async for m in read]) == sorted(values)
        assert len([m async for m in read.read(start=-5)]) == 5
        assert len([m async for m in read.reversed(limit=7)]) == 7
        newest = [m.timestamp_ms async for m in read.reversed()]
        assert newest == sorted(newest, reverse=True)
        again = read.replay(timedelta(hours=-1), where=lambda m: m.value == b"3")
        assert [m.value async for m in again] == [b"3"]
        one = read.partition(0)
        assert [m.offset async for m in one[5:8]] == [5, 6, 7]
        assert [m.offset async for m in one[-2:]] == [13, 14]
        assert [m.offset async for m in one[::-1]] == list(range(14, -1, -1))
        assert (await one[3]).value == b"6"
        with pytest.raises(IndexError):
            await one[99]
        with pytest.raises(streamlog.TopicNotFound):
            await read.partition(9).end_offset()

    run(main)


@pytest.mark.parametrize("count", [-1, 10**30])
def test_a_number_of_messages_that_is_invalid_is_refused(run: Run, topic: str, count: int) -> None:
    async def main(client: aio.Client) -> None:
        await fill(client, topic, 1)
        read = client.topic(topic)
        async with client.consumer(topic) as consumer:
            with pytest.raises(streamlog.ConfigError, match=f"messages: invalid value '{count}'"):
                await consumer.rewind(messages=count)
            calls: list[Callable[[], object]] = [
                lambda: consumer.take(count),
                lambda: consumer.batches(max_messages=count),
                lambda: consumer.streams(count),
                lambda: read.read(limit=count),
                lambda: read.reversed(limit=count),
                lambda: read.partition(0).read(limit=count),
                lambda: read.partition(0).reversed(limit=count),
            ]
            for call in calls:
                with pytest.raises(streamlog.ConfigError, match=f": invalid value '{count}': exp"):
                    call()
        for log in (read, read.partition(0)):
            with pytest.raises(streamlog.ConfigError, match="is no place in a topic"):
                await anext(log.read(-(10**30)))

    run(main)


def test_a_closed_consumer_goes_nowhere_and_reports_it(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        await fill(client, topic, 3)
        closed, unused = await client.consumer(topic), client.consumer(topic)
        for consumer in (closed, unused):
            await consumer.close()
            calls: list[Callable[[], object]] = [
                partial(consumer.seek, "earliest"),
                partial(consumer.seek, {}),
                consumer.pause,
                consumer.resume,
                partial(consumer.streams, 2),
            ]
            for call in calls:
                with pytest.raises(streamlog.Closed, match="was closed: create a new one"):
                    call()
            for back in (consumer.rewind(timedelta(hours=1)), consumer.rewind(messages=1)):
                with pytest.raises(streamlog.Closed, match="was closed: create a new one"):
                    await back
        assert closed.positions().keys() == {(topic, 0)}

    run(main)


def test_a_batch_that_is_cancelled_once_its_consumer_is_closed_is_cancelled(
    run: Run, topic: str
) -> None:
    async def main(client: aio.Client) -> None:
        await fill(client, topic, 1)
        consumer = await client.consumer(topic)
        gathering = asyncio.ensure_future(anext(consumer.batches(max_wait=60.0)))
        await eventually(lambda: consumer.positions() == {(topic, 0): 1})
        closing = asyncio.ensure_future(consumer.close())
        await asyncio.sleep(0)
        gathering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gathering
        await closing

    run(main)


def test_a_commit_without_a_group_says_that_there_is_none(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        await fill(client, topic, 1)
        async with client.consumer(topic) as consumer:
            message = await anext(consumer)
            for commit in (consumer.commit(), consumer.commit(message)):
                with pytest.raises(streamlog.ConfigError, match=r"commit: .*group="):
                    await commit

    run(main)


def test_options_are_those_of_the_blocking_client(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        with pytest.raises(streamlog.ConfigError, match="fetch_wait"):
            await client.consumer(topic, fetch_weit=1)  # type: ignore[call-overload]
        with pytest.raises(streamlog.ConfigError, match="plain function"):
            await client.consumer(topic, on_assign=fill)  # type: ignore[arg-type]
        with pytest.raises(streamlog.Closed, match="enter its block"):
            client.consumer(topic).lag()

    run(main)


def test_two_tasks_send_a_dead_letter_once(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        dead = f"{topic}.dead"
        await client.admin.create_topic(topic)
        async with client.producer() as producer:
            await producer.send_all(topic, [b"no number", b"1", b"2"])
        async with client.consumer(
            topic, value=int, on_error=streamlog.DeadLetters(dead)
        ) as consumer:
            taken = await asyncio.gather(anext(consumer), anext(consumer))
        assert sorted(message.value or 0 for message in taken) == [1, 2]
        assert [letter.value async for letter in client.topic(dead).read()] == [b"no number"]

    run(main)
