"""Reading: batches, streams, pauses, seeks, decoders, and the end of a loop."""

import json
import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import islice
from typing import Any, Protocol

import pytest

import streamlog
import streamlog.stopping

Pair = tuple[str, int]


class Event(streamlog.stopping.Event, Protocol):
    """A kind of event that a program can set."""

    def set(self) -> None:
        """Sets it."""


@pytest.fixture
def topic(streamlog_client: streamlog.Client, streamlog_topic: str) -> str:
    """A topic with four partitions of 25 records each, whose values are their numbers."""
    streamlog_client.admin.create_topic(streamlog_topic, partitions=4)
    with streamlog_client.producer() as producer:
        for number in range(100):
            producer.send(streamlog_topic, b"%d" % number, partition=number % 4)
    return streamlog_topic


def numbers(messages: Iterator[streamlog.Message]) -> list[int]:
    return [int(message.raw_value or b"-1") for message in messages]


def test_batches_hold_existing_messages_up_to_the_limit(
    streamlog_client: streamlog.Client, topic: str
) -> None:
    with streamlog_client.consumer(topic) as consumer:
        batches = consumer.batches(max_messages=30, max_wait=2)
        sizes = [len(next(batches)) for _ in range(4)]
        assert sizes == [30, 30, 30, 10]


def test_a_batch_is_a_sequence(streamlog_client: streamlog.Client, topic: str) -> None:
    with streamlog_client.consumer(topic) as consumer:
        batch = next(consumer.batches(max_messages=10, max_wait=10))
        assert batch[0] == batch.messages[0] == next(iter(batch))
        assert list(batch[-2:]) == batch.messages[-2:]
        assert len(batch) == 10


def test_a_current_batch_is_not_committed(streamlog_client: streamlog.Client, topic: str) -> None:
    with streamlog_client.consumer(topic, group="batches") as consumer:
        batches = consumer.batches(max_messages=40, max_wait=10)
        done = {(m.partition, m.offset) for m in next(batches)}
        next(batches)
    with streamlog_client.consumer(topic, group="batches") as consumer:
        rest = {(m.partition, m.offset) for m in consumer.until_end()}
    assert len(done) == 40
    assert len(rest) == 60
    assert not done & rest


def test_a_batch_is_committed_as_a_whole(streamlog_client: streamlog.Client, topic: str) -> None:
    with streamlog_client.consumer(topic, group="manual", commit="manual") as consumer:
        batches = consumer.batches(max_messages=40, max_wait=10)
        next(batches).commit()
        next(batches)
    with streamlog_client.consumer(topic, group="manual") as consumer:
        assert len(list(consumer.until_end())) == 60


def test_a_batch_that_a_signal_ended_is_read_again(
    streamlog_client: streamlog.Client, topic: str
) -> None:
    def raises(*_: object) -> None:
        raise InterruptedError

    before = signal.signal(signal.SIGUSR1, raises)
    timer = threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGUSR1))
    try:
        with streamlog_client.consumer(topic) as consumer:
            timer.start()
            with pytest.raises(InterruptedError):
                next(consumer.batches(max_wait=20))
            timer.join()
            batch = next(consumer.batches(max_messages=100, max_wait=10))
            assert sorted(numbers(iter(batch))) == list(range(100))
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_each_partition_is_in_one_stream_and_in_order(
    streamlog_client: streamlog.Client, topic: str
) -> None:
    with streamlog_client.consumer(topic) as consumer:
        streams = consumer.streams(3)
        # Assigned in turn: two partitions to the first stream, one to each other.
        counts = [50, 25, 25]

        def work(number: int) -> list[streamlog.Message]:
            return list(islice(streams[number], counts[number]))

        with ThreadPoolExecutor(3) as pool:
            read = list(pool.map(work, range(3)))
        homes = [{message.partition for message in messages} for messages in read]
        assert sorted(map(len, homes)) == [1, 1, 2]
        assert set().union(*homes) == {0, 1, 2, 3}
        for messages in read:
            for partition in {message.partition for message in messages}:
                offsets = [m.offset for m in messages if m.partition == partition]
                assert offsets == list(range(25))


def test_a_stream_that_nobody_reads_delays_no_other(
    streamlog_client: streamlog.Client, topic: str
) -> None:
    with streamlog_client.producer() as producer:
        for _ in range(64):
            for partition in range(4):
                producer.send(topic, bytes(8 << 10), partition=partition)
    with streamlog_client.consumer(topic, buffer="64 KiB", fetch_bytes="16 KiB") as consumer:
        first = consumer.streams(4)[0]
        assert len(list(islice(first, 25 + 64))) == 89


def test_streams_of_a_group_resume_where_it_stopped(
    streamlog_client: streamlog.Client, topic: str
) -> None:
    with streamlog_client.consumer(topic, group="streams") as consumer:
        streams = consumer.streams(2)
        read = [list(islice(stream, 20)) for stream in streams]
    assert len({(m.partition, m.offset) for part in read for m in part}) == 40
    with streamlog_client.consumer(topic, group="streams") as consumer:
        # The current message of each stream was not done.
        assert len(list(consumer.until_end())) == 62


def test_streams_are_asked_for_before_anything_is_read(
    streamlog_client: streamlog.Client, topic: str
) -> None:
    with streamlog_client.consumer(topic) as consumer:
        next(consumer)
        with pytest.raises(streamlog.ConfigError, match="before anything is read"):
            consumer.streams(2)
    with streamlog_client.consumer(topic) as consumer:
        consumer.streams(2)
        with pytest.raises(streamlog.ConfigError, match="given out by its streams"):
            next(consumer)
        with pytest.raises(streamlog.ConfigError, match="at least one"):
            consumer.streams(0)


def test_a_paused_partition_delivers_nothing_until_it_is_resumed(
    streamlog_client: streamlog.Client, topic: str
) -> None:
    with streamlog_client.consumer(topic) as consumer:
        consumer.pause(place for place in (0, (topic, 1)))
        assert {m.partition for m in consumer.take(50, timeout=10)} == {2, 3}
        assert list(consumer.take(1, timeout=0.1)) == []
        consumer.resume(0)
        assert {m.partition for m in consumer.take(25, timeout=10)} == {0}
        consumer.pause()
        consumer.resume()
        assert {m.partition for m in consumer.take(25, timeout=10)} == {1}
        with pytest.raises(streamlog.ConfigError, match="7 is not among those"):
            consumer.pause(7)


def test_a_full_buffer_of_paused_partitions_affects_nothing_else(
    streamlog_client: streamlog.Client, topic: str
) -> None:
    with streamlog_client.producer() as producer:
        for _ in range(64):
            producer.send(topic, bytes(8 << 10), partition=0)
    with streamlog_client.consumer(topic, buffer="16 KiB", fetch_bytes="16 KiB") as consumer:
        time.sleep(0.1)
        consumer.pause(0)
        assert {m.partition for m in consumer.take(75, timeout=10)} == {1, 2, 3}


def test_rewinding_goes_back_by_messages_and_by_time(
    streamlog_client: streamlog.Client, topic: str
) -> None:
    with streamlog_client.consumer(topic) as consumer:
        assert len(list(consumer.until_end())) == 100
        consumer.rewind(messages=2)
        assert sorted(numbers(consumer.until_end())) == list(range(92, 100))
        consumer.rewind(timedelta(hours=1))
        assert len(list(consumer.until_end())) == 100
        consumer.rewind(messages=1000)
        assert len(list(consumer.until_end())) == 100
        for wrong in ({}, {"back": timedelta(1), "messages": 1}):
            with pytest.raises(streamlog.ConfigError, match="not both and not neither"):
                consumer.rewind(**wrong)  # type: ignore[arg-type]


def test_values_and_keys_are_what_their_decoders_make_of_them(
    streamlog_client: streamlog.Client, streamlog_topic: str
) -> None:
    with streamlog_client.producer() as producer:
        producer.send(streamlog_topic, b'{"id": 1}', key=b"7")
        producer.send(streamlog_topic, None, key=b"7")
    with streamlog_client.consumer(streamlog_topic, value=json.loads, key=int) as consumer:
        first, second = consumer.take(2, timeout=10)
    assert (first.key, first.value) == (7, {"id": 1})
    assert (first.raw_key, first.raw_value) == (b"7", b'{"id": 1}')
    assert (second.key, second.value) == (7, None)
    again = pickle.loads(pickle.dumps(first))
    assert (again.key, again.value, again) == (7, {"id": 1}, first)


def test_a_message_that_does_not_decode_raises_an_error_with_the_message(
    streamlog_client: streamlog.Client, streamlog_topic: str
) -> None:
    with streamlog_client.producer() as producer:
        for value in (b"1", b"no number", b"3"):
            producer.send(streamlog_topic, value, partition=0)
    with streamlog_client.consumer(streamlog_topic, value=int) as consumer:
        assert next(consumer).value == 1
        with pytest.raises(streamlog.DecodeError, match=r"offset 1 of .*-0 .*ValueError") as caught:
            next(consumer)
        assert caught.value.message is not None
        assert caught.value.message.value == b"no number"
        assert isinstance(caught.value.__cause__, ValueError)
        again = pickle.loads(pickle.dumps(caught.value))
        assert (str(again), again.message) == (str(caught.value), caught.value.message)
        assert next(consumer).value == 3
    with streamlog_client.consumer(streamlog_topic, value=int, on_error="skip") as consumer:
        assert [m.value for m in consumer.until_end()] == [1, 3]


def test_dead_letters_are_kept_with_their_origin(
    streamlog_client: streamlog.Client, streamlog_topic: str
) -> None:
    dead = f"{streamlog_topic}.dlq"
    with streamlog_client.producer() as producer:
        producer.send(streamlog_topic, b"1", partition=0)
        producer.send(streamlog_topic, b"x", partition=0, key=b"k", headers={"trace": b"t"})
    on_error = streamlog.DeadLetters(dead)
    with streamlog_client.consumer(
        streamlog_topic, group="dlq", value=int, on_error=on_error
    ) as consumer:
        assert [m.value for m in consumer.until_end()] == [1]
    (letter,) = streamlog_client.topic(dead).read()
    assert (letter.key, letter.value) == (b"k", b"x")
    headers = dict(letter.headers)
    assert headers["trace"] == b"t"
    assert headers["streamlog-topic"] == streamlog_topic.encode()
    assert headers["streamlog-partition"] == b"0"
    assert headers["streamlog-offset"] == b"1"
    assert b"ValueError" in (headers["streamlog-error"] or b"")
    with streamlog_client.consumer(streamlog_topic, group="dlq") as consumer:
        assert list(consumer.until_end()) == []


@pytest.fixture
def mixed(streamlog_client: streamlog.Client, streamlog_topic: str) -> str:
    """A topic with three values, the second of which is not a number."""
    streamlog_client.admin.create_topic(streamlog_topic, partitions=1)
    with streamlog_client.producer() as producer:
        for value in (b"1", b"no number " * 20, b"3"):
            producer.send(streamlog_topic, value)
    return streamlog_topic


@pytest.mark.parametrize("value", [None, int])
def test_a_batch_before_an_error_of_a_partition_is_delivered_first(
    streamlog_client: streamlog.Client,
    streamlog_topic: str,
    value: Callable[[bytes], int] | None,
) -> None:
    streamlog_client.admin.create_topic(streamlog_topic, partitions=2)
    streamlog_client.producer().send(streamlog_topic, b"1", partition=0).result()
    consumer: streamlog.Consumer[Any]
    with streamlog_client.consumer(
        streamlog_topic, value=value, on_out_of_range="error"
    ) as consumer:

        def lead_astray() -> None:
            while consumer.positions()[streamlog_topic, 0] != 1:
                time.sleep(0.01)
            consumer.seek({1: 999})

        batches: Any = consumer.batches(max_wait=20)
        with ThreadPoolExecutor(1) as pool:
            pool.submit(lead_astray)
            assert numbers(iter(next(batches))) == [1]
        with pytest.raises(streamlog.OffsetOutOfRange):
            next(batches)


@pytest.fixture
def narrow(streamlog_client: streamlog.Client, mixed: str) -> str:
    """A dead letter topic that is too small for the letter."""
    streamlog_client.admin.create_topic(f"{mixed}.dead", config={"max.message.bytes": 100})
    return f"{mixed}.dead"


def test_batches_hold_all_that_can_be_decoded(
    streamlog_client: streamlog.Client, mixed: str
) -> None:
    with streamlog_client.consumer(mixed, group=mixed, value=int, commit="manual") as consumer:
        batches = consumer.batches(max_messages=10)
        batch = next(batches)
        assert [message.value for message in batch] == [1]
        batch.commit()
        consumer.commit()
        assert consumer.positions() == {(mixed, 0): 1}
        assert streamlog_client.admin.group(mixed).committed() == {(mixed, 0): 1}
        with pytest.raises(streamlog.DecodeError, match="offset 1 of"):
            next(batches)
        assert [message.value for message in next(batches)] == [3]
        assert consumer.positions() == {(mixed, 0): 3}
    with streamlog_client.consumer(mixed, value=int, on_error="skip") as consumer:
        batch = next(consumer.batches(max_messages=2, max_wait=10))
        assert [message.value for message in batch] == [1, 3]


def test_a_batch_before_a_decoding_error_is_not_done(
    streamlog_client: streamlog.Client, mixed: str
) -> None:
    with streamlog_client.consumer(mixed, group=mixed, value=int) as consumer:
        assert len(next(consumer.batches(max_messages=10))) == 1
    with streamlog_client.consumer(mixed, group=mixed) as consumer:
        assert [message.offset for message in consumer.until_end()] == [0, 1, 2]


def test_a_decoder_that_is_interrupted_loses_no_message(
    streamlog_client: streamlog.Client, mixed: str
) -> None:
    interrupts = iter([KeyboardInterrupt])

    def decode(value: bytes) -> bytes:
        if value.startswith(b"no"):
            for interrupt in interrupts:
                raise interrupt
        return value[:2]

    with streamlog_client.consumer(mixed, value=decode) as consumer:
        batches = consumer.batches(max_messages=3, max_wait=10)
        with pytest.raises(KeyboardInterrupt):
            next(batches)
        assert consumer.positions() == {(mixed, 0): 0}
        assert [message.value for message in next(batches)] == [b"1", b"no", b"3"]


LETTERED: dict[str, Callable[[streamlog.Consumer[int | None]], Iterator[object]]] = {
    "consumer": lambda consumer: consumer,
    "batches": lambda consumer: consumer.batches(max_messages=10),
    "stream": lambda consumer: consumer.streams(1)[0],
    "take": lambda consumer: consumer.take(1),
    "until_end": lambda consumer: consumer.until_end(),
}


@pytest.mark.parametrize("form", LETTERED)
def test_a_message_is_not_done_before_its_dead_letter_is_published(
    streamlog_client: streamlog.Client, mixed: str, narrow: str, form: str
) -> None:
    admin = streamlog_client.admin
    with streamlog_client.consumer(
        mixed, group=narrow, value=int, on_error=streamlog.DeadLetters(narrow)
    ) as consumer:
        parts = LETTERED[form](consumer)
        next(parts)
        for _ in range(2):
            part = LETTERED[form](consumer) if form == "take" else parts
            with pytest.raises(streamlog.MessageTooLarge) as caught:
                next(part)
            next(part, None) if form == "take" else None
            consumer.commit()
            assert admin.group(narrow).committed() == {(mixed, 0): 1}
            assert consumer.positions() == {(mixed, 0): 1}
            assert "offset 1 of" in caught.value.__notes__[0]
    assert admin.group(narrow).committed() == {(mixed, 0): 1}
    with streamlog_client.consumer(
        mixed, group=narrow, value=int, on_error=streamlog.DeadLetters(narrow)
    ) as consumer:
        parts = LETTERED[form](consumer)
        with pytest.raises(streamlog.MessageTooLarge):
            next(parts)
        admin.set_settings({"max.message.bytes": 10_000}, topic=narrow)
        parts = LETTERED[form](consumer) if form == "take" else parts
        next(parts)
        assert consumer.positions() == {(mixed, 0): 3}
    assert [letter.value for letter in streamlog_client.topic(narrow)] == [b"no number " * 20]


def test_a_letter_that_cannot_be_published_is_skipped_by_seeking(
    streamlog_client: streamlog.Client, mixed: str, narrow: str
) -> None:
    with streamlog_client.consumer(
        mixed, value=int, on_error=streamlog.DeadLetters(narrow)
    ) as consumer:
        assert next(consumer).value == 1
        with pytest.raises(streamlog.MessageTooLarge):
            next(consumer)
        rows = next(consumer.arrow(max_wait=0.5))
        assert rows.column("offset").to_pylist() == [1, 2]
        consumer.seek(1)
        with pytest.raises(streamlog.MessageTooLarge):
            next(consumer)
        consumer.seek({0: 2})
        assert next(consumer).value == 3


def test_contradictory_options_are_named_together(
    streamlog_client: streamlog.Client, topic: str
) -> None:
    with pytest.raises(streamlog.ConfigError, match="commit: given without group="):
        streamlog_client.consumer(topic, commit="manual")
    with pytest.raises(streamlog.ConfigError, match="commit_interval: given with group=BROADCAST"):
        streamlog_client.consumer(topic, group=streamlog.BROADCAST, commit_interval=1)
    with pytest.raises(streamlog.ConfigError, match="on_error: given without value= or key="):
        streamlog_client.consumer(topic, on_error="skip")
    with pytest.raises(streamlog.ConfigError, match="did you mean 'on_assign'"):
        streamlog_client.consumer(topic, on_asign=print)  # type: ignore[call-overload]


def test_a_broadcast_reaches_everyone_from_now_on(
    streamlog_client: streamlog.Client, topic: str
) -> None:
    with (
        streamlog_client.consumer(topic, group=streamlog.BROADCAST) as one,
        streamlog_client.consumer(topic, group=streamlog.BROADCAST) as other,
    ):
        for consumer in (one, other):
            assert list(consumer.until_end()) == []
        streamlog_client.producer().send(topic, b"1000").result()
        assert numbers(one.take(1)) == numbers(other.take(1)) == [1000]


def test_a_member_is_called_with_assigned_and_revoked_partitions(
    streamlog_client: streamlog.Client, topic: str
) -> None:
    told: list[tuple[str, list[Pair]]] = []
    with streamlog_client.consumer(
        topic,
        group=topic,
        on_assign=lambda pairs: told.append(("assigned", pairs)),
        on_revoke=lambda pairs: told.append(("revoked", pairs)),
        config={"heartbeat.interval.ms": 100},
    ) as consumer:
        next(consumer)
        everything = [(topic, partition) for partition in range(4)]
        assert [(word, sorted(pairs)) for word, pairs in told] == [("assigned", everything)]
        with streamlog_client.consumer(topic, group=topic):
            deadline = time.monotonic() + 20
            while len(told) < 3 and time.monotonic() < deadline:
                list(consumer.take(1, timeout=0.1))
        words = [word for word, _ in told]
        assert words[:3] == ["assigned", "revoked", "assigned"]
        assert sorted(told[1][1]) == everything
        assert len(told[2][1]) == 2


@pytest.mark.parametrize("make", [threading.Event, multiprocessing.Event])
def test_an_event_ends_the_loop_after_the_current_message(
    streamlog_client: streamlog.Client, topic: str, make: Callable[[], Event]
) -> None:
    stop = make()
    with streamlog_client.consumer(topic, group="stopped", stop=stop) as consumer:
        done = 0
        for _message in consumer:
            done += 1
            if done == 10:
                stop.set()
        assert done == 10
    with streamlog_client.consumer(topic, group="stopped") as consumer:
        assert len(list(consumer.until_end())) == 90


FORMS: dict[str, Callable[[streamlog.Consumer], Iterator[object]]] = {
    "arrow": lambda consumer: consumer.arrow(max_rows=10),
    "batches": lambda consumer: consumer.batches(max_messages=10),
    "stream": lambda consumer: consumer.streams(1)[0],
    "take": lambda consumer: consumer.take(50),
    "until_end": lambda consumer: consumer.until_end(),
}


@pytest.mark.parametrize("form", FORMS)
def test_an_event_ends_every_form_of_reading(
    streamlog_client: streamlog.Client, topic: str, form: str
) -> None:
    stop = threading.Event()
    with streamlog_client.consumer(topic, stop=stop) as consumer:
        parts = FORMS[form](consumer)
        next(parts)
        stop.set()
        assert next(parts, None) is None


def test_an_event_ends_a_loop_that_waits(streamlog_client: streamlog.Client, topic: str) -> None:
    stop = threading.Event()
    with streamlog_client.consumer(topic, start="latest", stop=stop) as consumer:
        threading.Timer(0.1, stop.set).start()
        assert list(consumer) == []


def test_sigterm_ends_the_loop_and_its_handler_is_restored(
    streamlog_client: streamlog.Client, topic: str
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with streamlog_client.consumer(topic, start="latest", signals=True) as consumer:
        assert signal.getsignal(signal.SIGTERM) is not before
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()
        assert list(consumer) == []
    assert signal.getsignal(signal.SIGTERM) is before


def test_signals_are_for_the_main_thread(streamlog_client: streamlog.Client, topic: str) -> None:
    with (
        ThreadPoolExecutor(1) as pool,
        pytest.raises(streamlog.ConfigError, match="only the main thread"),
    ):
        pool.submit(lambda: streamlog_client.consumer(topic, signals=True)).result()
