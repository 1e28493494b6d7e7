"""Members of groups on an event loop."""

import asyncio

import pytest

import streamlog
from py.aio.conftest import Run, eventually, fill
from streamlog import aio


def test_a_group_resumes_where_it_stopped(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        await fill(client, topic, 20)
        async with client.consumer(topic, group=topic) as consumer:
            assert [m.offset async for m in consumer.take(10, timeout=20)] == list(range(10))
            assert await anext(consumer)
        async with client.consumer(topic, group=topic) as consumer:
            # The current message did not count as done.
            assert [m.offset async for m in consumer.take(10, timeout=20)] == list(range(10, 20))
        assert await client.admin.group(topic).committed() == {(topic, 0): 20}

    run(main)


def test_messages_that_were_all_taken_are_done_and_closing_within_the_loop_is_allowed(
    run: Run, topic: str
) -> None:
    async def main(client: aio.Client) -> None:
        await fill(client, topic, 5)
        group = client.admin.group(topic)
        async with client.consumer(topic, group=topic) as consumer:
            assert [m.offset async for m in consumer.take(0)] == []
            assert [m.offset async for m in consumer.take(2, timeout=20)] == [0, 1]
        assert await group.committed() == {(topic, 0): 2}
        async with client.consumer(topic, group=topic) as consumer:
            async for message in consumer.take(1, timeout=20):
                assert message.offset == 2
                await consumer.close()
        assert await group.committed() == {(topic, 0): 2}

    run(main)


def test_commits_are_awaited(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        await fill(client, topic, 20)
        group = client.admin.group(topic)
        async with client.consumer(topic, group=topic, commit="manual") as consumer:
            messages = [message async for message in consumer.take(10, timeout=20)]
            assert await group.committed() == {}
            await consumer.commit(messages[3])
            assert await group.committed() == {(topic, 0): 4}
            await consumer.commit()
            assert await group.committed() == {(topic, 0): 10}
            batch = await anext(consumer.batches(max_messages=5))
            await batch.commit()
            assert await group.committed() == {(topic, 0): 10 + len(batch)}
        async with client.consumer(topic) as alone:
            with pytest.raises(streamlog.ConfigError):
                await alone.commit()

    run(main)


def test_members_share_partitions_and_get_callbacks(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        values = await fill(client, topic, 100, partitions=4)
        got: list[bytes] = []
        told: list[list[tuple[str, int]]] = []

        async def read() -> None:
            async with client.consumer(topic, group=topic, on_assign=told.append) as consumer:
                async for message in consumer:
                    got.append(message.value or b"")

        tasks = [asyncio.create_task(read()) for _ in range(2)]
        await eventually(lambda: set(got) == set(values), 20)
        await eventually(lambda: any(len(share) == 2 for share in told), 20)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    run(main)


def test_a_member_that_is_cancelled_again_and_again_loses_nothing(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        values = await fill(client, topic, 300, partitions=2)
        done: list[bytes] = []

        async def work() -> None:
            async with client.consumer(topic, group=topic) as consumer:
                async for message in consumer:
                    await asyncio.sleep(0.001)
                    done.append(message.value or b"")

        async with asyncio.timeout(25):
            while set(done) != set(values):
                enough = len(done) + 60
                task = asyncio.create_task(work())
                # Each life makes some progress, however long joining takes.
                while len(done) < enough and set(done) != set(values):
                    await asyncio.sleep(0.005)
                task.cancel()
                await asyncio.wait([task])
        # Only messages in progress at a cancellation may be delivered twice.
        assert set(done) == set(values)

    run(main)


def test_resetting_is_planned_first(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        await fill(client, topic, 10)
        group = client.admin.group(topic)
        async with client.consumer(topic, group=topic) as consumer:
            assert len([m async for m in consumer.take(10, timeout=20)]) == 10
        [plan] = await group.reset(topic, to="earliest", dry_run=True)
        assert plan.after == 0
        assert await group.lag() != {(topic, 0): 10}
        assert await group.reset(topic, to="earliest") == [plan]
        assert await group.lag() == {(topic, 0): 10}
        assert (await group.describe()).state == "Empty"
        assert topic in await client.admin.groups()
        await group.delete()
        await group.delete(missing_ok=True)
        with pytest.raises(streamlog.BrokerError):
            await group.delete()

    run(main)
