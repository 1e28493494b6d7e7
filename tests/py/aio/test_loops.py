"""Other tasks keep running on an event loop, waits end in time, and no threads are used."""

import asyncio
import gc
import multiprocessing
import signal
import subprocess
import sys
import threading
import time

import pytest

import streamlog
from py.aio.conftest import Run, fill
from py.support.broker import BrokerProcess
from py.support.signals import interrupted
from py.support.timing import quickest
from streamlog import aio

COUNT = 100_000

AT_ONCE = 1.0
"""A limit in seconds, in which a member also leaves its group."""


def test_the_loop_keeps_ticking_while_messages_are_consumed(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        async with client.producer() as producer:
            await producer.send_all(topic, (b"x" for _ in range(COUNT)))
        count = 0
        longest = 0

        async def tick() -> None:
            nonlocal longest
            while True:
                before = count
                await asyncio.sleep(0.001)
                longest = max(longest, count - before)

        async with client.consumer(topic, create_topics=True) as consumer:
            await anext(consumer)
            count += 1
            ticking = asyncio.create_task(tick())
            await asyncio.sleep(0)
            async for _ in consumer:
                count += 1
                if count == COUNT:
                    break
            await asyncio.sleep(0.01)
            ticking.cancel()
            # A loop that never yields would go through all messages. Count messages and not time,
            # because the machine may suspend this program for any time.
            assert longest < COUNT / 4

    run(main)


def test_no_thread_is_created_but_the_client_s_own(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        before = threading.active_count()
        await fill(client, topic, 10)
        async with client.consumer(topic, group=topic) as consumer:
            assert len([m async for m in consumer.take(10, timeout=20)]) == 10
            await consumer.commit()
        await client.admin.cluster()
        assert threading.active_count() == before
        assert not [thread for thread in threading.enumerate() if "asyncio" in thread.name]

    run(main)


def test_two_loops_in_two_threads_do_not_meet(shared_broker: BrokerProcess, topic: str) -> None:
    got: dict[int, list[bytes | None]] = {}

    def loop(number: int) -> None:
        async def main() -> None:
            async with aio.connect(shared_broker.address) as client:
                mine = f"{topic}-{number}"
                values = await fill(client, mine, 1000)
                async with client.consumer(mine) as consumer:
                    got[number] = [message.value async for message in consumer.take(1000)]
                assert got[number] == values

        asyncio.run(main())

    threads = [threading.Thread(target=loop, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(map(len, got.values())) == [1000, 1000]


def test_a_client_refuses_another_loop(shared_broker: BrokerProcess, topic: str) -> None:
    loop = asyncio.new_event_loop()

    async def connected() -> aio.Client:
        return await aio.connect(shared_broker.address)

    client = loop.run_until_complete(connected())

    async def elsewhere() -> None:
        with pytest.raises(streamlog.StreamlogError, match="another event loop"):
            await client.admin.topics()

    asyncio.run(elsewhere())
    loop.run_until_complete(client.close())
    loop.close()


def test_a_loop_that_ends_early_leaves_nothing_hanging(
    shared_broker: BrokerProcess, topic: str
) -> None:
    async def main() -> None:
        client = await aio.connect(shared_broker.address)
        consumer = await client.consumer(topic, create_topics=True)
        client.producer().send(f"{topic}-other", b"x")
        waiting = asyncio.create_task(anext(consumer))
        await asyncio.sleep(0.05)
        assert not waiting.done()

    begin = time.monotonic()
    asyncio.run(main())
    gc.collect()
    assert time.monotonic() - begin < 5


INTERRUPTED = """
import asyncio, signal, sys
from streamlog import aio

# A parent that ignores SIGINT, as a shell's background job, passes that on.
signal.signal(signal.SIGINT, signal.default_int_handler)

async def main():
    async with aio.connect(sys.argv[1]) as client:
        options = {"group": "interrupted", "create_topics": True}
        async with client.consumer(sys.argv[2], **options) as consumer:
            print("waiting", flush=True)
            async for message in consumer:
                pass

try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_ends_a_loop_at_once(shared_broker: BrokerProcess, topic: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED, shared_broker.address, topic]

    def interrupt() -> float:
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "waiting\n"
            seconds = interrupted(process)
            assert process.wait(20) == 0
        return seconds

    assert quickest(interrupt, AT_ONCE) < AT_ONCE


TERMINATED = """
import asyncio, sys
from streamlog import aio

async def main():
    async with aio.connect(sys.argv[1]) as client:
        async with client.consumer(sys.argv[2], signals=True, create_topics=True) as consumer:
            print("waiting", flush=True)
            async for message in consumer:
                pass
    print("ended", flush=True)

asyncio.run(main())
"""


def test_sigterm_ends_the_loop_on_request(shared_broker: BrokerProcess, topic: str) -> None:
    command = [sys.executable, "-c", TERMINATED, shared_broker.address, topic]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "ended\n"
        assert process.wait(20) == 0


def test_a_broker_that_is_gone_and_back_is_found_again(broker: BrokerProcess, topic: str) -> None:
    async def main() -> None:
        async with aio.connect(broker.address) as client, client.producer() as producer:
            await producer.send(topic, b"before", partition=0)
            async with client.consumer(topic) as consumer:
                assert (await anext(consumer)).value == b"before"
                broker.kill()
                ticket = producer.send(topic, b"after", partition=0)
                await asyncio.sleep(0.2)
                await asyncio.to_thread(broker.start)
                assert (await ticket.result(20)).offset == 1
                async with asyncio.timeout(20):
                    assert (await anext(consumer)).value == b"after"

    asyncio.run(main())


def test_an_address_without_a_broker_is_named() -> None:
    async def main() -> None:
        with pytest.raises(streamlog.ConnectError) as raised:
            await aio.connect("127.0.0.1:1", timeout=2)
        assert raised.value.tried[0][0] == "127.0.0.1:1"
        with pytest.raises(streamlog.Closed):
            aio.connect("127.0.0.1:1").producer()

    asyncio.run(main())


def test_connecting_can_be_given_up(broker: BrokerProcess) -> None:
    async def main() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(aio.connect(broker.address), 0.2)

    with broker.silent():
        begin = time.monotonic()
        asyncio.run(main())
        assert time.monotonic() - begin < 3


def _refused_in_child(client: aio.Client, producer: aio.Producer, consumer: aio.Consumer) -> None:
    """Runs in a forked child, which exits with 0 on success."""

    async def main() -> None:
        with pytest.raises(streamlog.ForkError, match="forked"):
            await anext(consumer)
        with pytest.raises(streamlog.ForkError, match="forked"):
            await client.admin.topics()
        with pytest.raises(streamlog.StreamlogError, match="connect once for each loop"):
            await producer.flush()

    asyncio.run(main())


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_is_refused_and_its_parent_goes_on(
    shared_broker: BrokerProcess, topic: str
) -> None:
    client = aio.connect(shared_broker.address)

    async def begin() -> tuple[aio.Producer, aio.Consumer]:
        await client
        producer, consumer = client.producer(), client.consumer(topic)
        await producer.send(topic, b"before")
        assert (await anext(consumer)).value == b"before"
        return producer, consumer

    async def go_on(producer: aio.Producer, consumer: aio.Consumer) -> None:
        await producer.send(topic, b"after")
        assert (await anext(consumer)).value == b"after"
        await client.close()

    with asyncio.Runner() as runner:
        producer, consumer = runner.run(begin())
        # Forked while the loop is not running a callback, so that the child has no running loop.
        fork = multiprocessing.get_context("fork")
        child = fork.Process(target=_refused_in_child, args=(client, producer, consumer))
        child.start()
        child.join(20)
        assert child.exitcode == 0
        runner.run(go_on(producer, consumer))
