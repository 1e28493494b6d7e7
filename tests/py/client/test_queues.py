"""Work queues: messages are retried later, finally rejected, and never lost."""

import asyncio
import json
import threading
import time
from collections import Counter
from itertools import pairwise

import pytest

import streamlog
from py.aio.conftest import Run
from streamlog import Client, WorkQueue, aio

QUICK = (0.05, 0.3)


def publish(client: Client, topic: str, count: int, partitions: int = 1) -> None:
    client.admin.create_topic(topic, partitions=partitions)
    with client.producer() as producer:
        for number in range(count):
            producer.send(topic, b"%d" % number, key=b"k%d" % number, partition=number % partitions)


def test_a_retried_message_is_delivered_again_later_and_is_counted(
    client: Client, topic: str
) -> None:
    publish(client, topic, 3)
    seen: list[tuple[bytes | None, int]] = []
    retried_at = 0.0
    with WorkQueue(client, topic, group=topic, backoff=QUICK) as queue:
        for message in queue:
            seen.append((message.value, message.deliveries))
            assert message.origin == (topic, 0, int(message.value or b""))
            if seen[-1] == (b"0", 1):
                retried_at = time.time()
                message.retry(reason="busy")
            elif message.deliveries == 2:
                waited = time.time() - retried_at
                assert waited >= QUICK[0]
                assert message.key == b"k0"
                assert message.message.header("streamlog-error") == b"busy"
                break
    # The retried message delays no other, and no other delays it.
    assert seen == [(b"0", 1), (b"1", 1), (b"2", 1), (b"0", 2)]


def test_back_off_grows_and_the_last_delivery_makes_a_dead_letter(
    client: Client, topic: str
) -> None:
    publish(client, topic, 1)
    times: list[float] = []
    with WorkQueue(client, topic, group=topic, backoff=QUICK, max_deliveries=4) as queue:
        for message in queue:
            times.append(time.time())
            message.retry(reason=f"attempt {message.deliveries}")
            if message.deliveries == 4:
                break
    pauses = [later - earlier for earlier, later in pairwise(times)]
    assert all(pause >= step for pause, step in zip(pauses, (0.05, 0.3, 0.3), strict=True))
    [letter] = client.topic(f"{topic}.dead")
    assert (letter.key, letter.value) == (b"k0", b"0")
    assert letter.header("streamlog-error") == b"attempt 4"
    assert letter.header("streamlog-deliveries") == b"4"
    assert letter.header("streamlog-topic") == topic.encode()
    assert letter.header("streamlog-offset") == b"0"
    # All messages are done.
    assert set(client.admin.group(topic).lag().values()) == {0}


def test_a_delay_is_rounded_up_to_a_step_and_never_beyond(client: Client, topic: str) -> None:
    publish(client, topic, 1)
    with WorkQueue(client, topic, group=topic, backoff=QUICK) as queue:
        message = next(queue)
        with pytest.raises(streamlog.ConfigError, match=r"delay: invalid value 60: the longest"):
            message.retry(delay=60)
        message.retry(delay=0.1)
        with pytest.raises(streamlog.StreamlogError, match="retried or rejected already"):
            message.reject()
    assert len(list(client.topic(f"{topic}.retry.0.3s"))) == 1
    assert list(client.topic(f"{topic}.retry.0.05s")) == []


def test_a_rejected_message_keeps_its_headers(client: Client, topic: str) -> None:
    client.admin.create_topic(topic)
    client.producer().send(topic, b"x", headers={"trace": b"ab"}).result(10)
    with WorkQueue(client, topic, group=topic, backoff=QUICK) as queue:
        next(queue).reject("no such customer")
    [letter] = client.topic(f"{topic}.dead")
    assert letter.header("trace") == b"ab"
    assert letter.header("streamlog-error") == b"no such customer"


def test_a_message_that_does_not_decode_is_a_dead_letter_at_once(
    client: Client, topic: str
) -> None:
    client.admin.create_topic(topic)
    with client.producer() as producer:
        producer.send_all(topic, [b"{", b'{"id": 1}'])
    with WorkQueue(client, topic, group=topic, backoff=QUICK, value=json.loads) as queue:
        assert next(queue).value == {"id": 1}
    assert [letter.value for letter in client.topic(f"{topic}.dead")] == [b"{"]


def test_a_crash_during_the_work_delivers_the_message_again(client: Client, topic: str) -> None:
    publish(client, topic, 2)

    def crash() -> None:
        with WorkQueue(client, topic, group=topic, backoff=QUICK) as queue:
            for message in queue:
                if message.value == b"1":
                    raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        crash()
    with WorkQueue(client, topic, group=topic, backoff=QUICK) as queue:
        assert next(queue).value == b"1"


def test_a_message_that_waits_outlives_its_worker(client: Client, topic: str) -> None:
    publish(client, topic, 1)
    with WorkQueue(client, topic, group=topic, backoff=(0.5,)) as queue:
        for message in queue:
            message.retry()
            queue.end()
    with WorkQueue(client, topic, group=topic, backoff=(0.5,)) as queue:
        message = next(queue)
        assert (message.value, message.deliveries) == (b"0", 2)


def test_two_members_do_everything_and_forget_nothing(client: Client, topic: str) -> None:
    count = 60
    publish(client, topic, count, partitions=3)
    done: Counter[bytes | None] = Counter()
    stop = threading.Event()

    def work() -> None:
        options = {"heartbeat.interval.ms": 50}
        with WorkQueue(
            client, topic, group=topic, backoff=(0.05,), stop=stop, config=options
        ) as queue:
            for message in queue:
                if message.deliveries == 1 and int(message.value or b"0") % 5 == 0:
                    message.retry()
                else:
                    done[message.value] += 1

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 60
    while len(done) < count and time.monotonic() < deadline:
        time.sleep(0.02)
    stop.set()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    assert set(done) == {b"%d" % number for number in range(count)}


def test_another_group_is_not_concerned(client: Client, topic: str) -> None:
    publish(client, topic, 1)
    with WorkQueue(client, topic, group=f"{topic}-one", backoff=QUICK) as queue:
        next(queue).retry()
    with WorkQueue(client, topic, group=f"{topic}-other", backoff=QUICK) as queue:
        assert next(queue).deliveries == 1


def test_an_event_ends_a_queue_that_waits(client: Client, topic: str) -> None:
    publish(client, topic, 1)
    stop = threading.Event()
    with WorkQueue(client, topic, group=topic, backoff=(3600.0,), stop=stop) as queue:
        for message in queue:
            message.retry()
            threading.Timer(0.2, stop.set).start()
    assert message.deliveries == 1


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"group": ""}, "group: the name is empty"),
        ({"backoff": ()}, "backoff: "),
        ({"backoff": (0,)}, "backoff: "),
        ({"backoff": (5, 1)}, "less than the one before"),
        ({"backoff": (float("nan"),)}, "backoff: "),
        ({"max_deliveries": 0}, "at least once"),
    ],
)
def test_invalid_values_are_refused(
    client: Client, topic: str, options: dict[str, object], text: str
) -> None:
    with pytest.raises(streamlog.ConfigError, match=text):
        WorkQueue(client, topic, **{"group": topic, **options})  # type: ignore[call-overload]
    assert topic not in client.admin.topics()


def test_a_queue_on_a_loop_does_the_same(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        await client.admin.create_topic(topic)
        async with client.producer() as producer:
            await producer.send_all(topic, [b"0", b"1"])
        seen = []
        async with aio.WorkQueue(client, topic, group=topic, backoff=QUICK) as queue:
            async for message in queue:
                seen.append((message.value, message.deliveries))
                if message.value == b"1":
                    await message.reject("never")
                elif message.deliveries == 2:
                    break
                else:
                    await message.retry()
        assert seen == [(b"0", 1), (b"1", 1), (b"0", 2)]
        letters = [letter async for letter in client.topic(f"{topic}.dead")]
        assert [letter.header("streamlog-error") for letter in letters] == [b"never"]
        async with aio.WorkQueue(client, topic, group=topic, backoff=QUICK) as queue:
            asyncio.get_running_loop().call_later(0.3, queue.end)
            assert [message.value async for message in queue] in ([], [b"0"])

    run(main)
