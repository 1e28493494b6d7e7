"""Reading by record batches: start, end, interruption, and the lifetime of a batch."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Literal

import pyarrow
import pytest

import streamlog
from py.support.broker import until


class Interrupted(Exception):
    """The error raised by the signal handler."""


@pytest.fixture
def topic(streamlog_client: streamlog.Client, streamlog_topic: str) -> str:
    """A topic with two partitions of 50 records each, whose values are their numbers."""
    streamlog_client.admin.create_topic(streamlog_topic, partitions=2)
    with streamlog_client.producer() as producer:
        for number in range(100):
            producer.send(streamlog_topic, b"%d" % number, partition=number % 2)
    return streamlog_topic


def offsets(batch: pyarrow.RecordBatch, partition: int | None = None) -> list[int]:
    """Returns the offsets in a batch, all or those of a partition."""
    pairs = zip(batch["partition"].to_pylist(), batch["offset"].to_pylist(), strict=True)
    return [offset for number, offset in pairs if partition in (None, number)]


def test_a_consumer_waits_for_the_next_batch(
    streamlog_client: streamlog.Client, topic: str
) -> None:
    with streamlog_client.consumer(topic) as consumer, streamlog_client.producer() as producer:
        batches = consumer.arrow(max_rows=100, max_wait=5)
        assert next(batches).num_rows == 100
        later = threading.Timer(0.2, producer.send, (topic, b"later"), {"partition": 1})
        later.start()
        lingering = consumer.arrow(max_wait=0)
        assert next(lingering)["value"].to_pylist() == [b"later"]
        later.join()
        assert consumer.positions() == {(topic, 0): 50, (topic, 1): 51} == batches.positions()


def test_a_batch_waits_for_more_but_not_for_long(
    streamlog_client: streamlog.Client, streamlog_topic: str
) -> None:
    with streamlog_client.producer(linger=0) as producer:
        producer.send(streamlog_topic, b"0").result()
        with streamlog_client.consumer(streamlog_topic) as consumer:
            later = threading.Timer(0.1, producer.send, (streamlog_topic, b"1"))
            later.start()
            [batch] = [next(consumer.arrow(max_rows=2, max_wait=20))]
            assert batch["value"].to_pylist() == [b"0", b"1"]
            producer.send(streamlog_topic, b"2").result()
            begin = time.monotonic()
            assert next(consumer.arrow(max_wait=0.3)).num_rows == 1
            assert 0.25 < time.monotonic() - begin < 5


def test_reading_until_the_end_stops_there(streamlog_client: streamlog.Client, topic: str) -> None:
    with streamlog_client.consumer(topic) as consumer:
        batches = consumer.until_end().arrow(columns=["value"], max_rows=30, max_wait=10)
        streamlog_client.producer().send(topic, b"new", partition=0).result()
        assert [batch.num_rows for batch in batches] == [30, 30, 30, 10]
        assert next(batches, None) is None
        del batches
        gc.collect()
        assert next(consumer).value == b"new"


def test_an_offset_range_is_read_and_says_how_far_it_got(
    streamlog_client: streamlog.Client, topic: str
) -> None:
    partition = streamlog_client.topic(topic).partition(1)
    batches = partition.arrow(10, 35, columns=["partition", "offset"], max_rows=10)
    assert batches.positions() == {(topic, 1): 10}
    found = []
    for batch in batches:
        found += offsets(batch, 1)
        assert batches.positions() == {(topic, 1): found[-1] + 1}
    assert found == list(range(10, 35))
    beyond = partition.arrow(45, 1000)
    assert sum(batch.num_rows for batch in beyond) == 5
    assert beyond.positions() == {(topic, 1): 50}
    assert [batch.num_rows for batch in partition.arrow(-3)] == [3]
    nothing = partition.arrow(20, 20)
    assert (list(nothing), nothing.positions()) == ([], {(topic, 1): 20})
    with pytest.raises(streamlog.TopicNotFound):
        streamlog_client.topic(topic).partition(7).arrow()


def test_deleted_records_are_skipped_or_reported(
    streamlog_client: streamlog.Client, topic: str
) -> None:
    streamlog_client.admin.delete_records(topic, 0, 20)
    partition = streamlog_client.topic(topic).partition(0)
    [batch] = partition.arrow(5, 30)
    assert offsets(batch) == list(range(20, 30))
    for stop in (10, 30):
        with pytest.raises(streamlog.OffsetOutOfRange) as caught:
            next(partition.arrow(5, stop, on_out_of_range="error"))
        assert (caught.value.requested, caught.value.earliest) == (5, 20)
    [batch] = partition.arrow(20, 30, on_out_of_range="error")
    assert offsets(batch) == list(range(20, 30))


def test_a_topic_is_one_stream_for_other_libraries(
    streamlog_client: streamlog.Client, topic: str
) -> None:
    whole = streamlog_client.topic(topic)
    table = pyarrow.table(whole.arrow(columns=["value", "offset"], max_rows=7))
    assert table.column_names == ["value", "offset"]
    assert sorted(map(int, table["value"].to_pylist())) == list(range(100))
    reader = pyarrow.RecordBatchReader.from_stream(whole.arrow(timedelta(hours=-1)))
    assert reader.schema == whole.arrow().schema
    assert reader.read_all().num_rows == 100
    with streamlog_client.consumer(topic) as consumer:
        endless = pyarrow.RecordBatchReader.from_stream(consumer.arrow(max_rows=40, max_wait=10))
        assert endless.read_next_batch().num_rows == 40
        consumer.close()
        assert list(endless) == []


def test_a_batch_outlives_all_that_it_was_read_by(
    topic: str, streamlog_broker: streamlog.Broker
) -> None:
    client = streamlog_broker.connect()
    consumer = client.consumer(topic)
    batch = next(consumer.arrow(max_rows=100, max_wait=5))
    value = batch["value"]
    part = value.slice(10, 20)
    before = value.to_pylist()
    consumer.close()
    client.close()
    del consumer, client, batch
    gc.collect()
    # Freed memory would be overwritten by these.
    _ = [bytes([255]) * size for size in range(100, 20_000, 7)]
    assert value.to_pylist() == before
    del value
    gc.collect()
    assert part.to_pylist() == before[10:30]


def test_current_batches_are_not_committed(streamlog_client: streamlog.Client, topic: str) -> None:
    with streamlog_client.consumer(topic, group="arrow") as consumer:
        batches = consumer.arrow(max_rows=40, max_wait=10)
        done = next(batches)
        in_hand = next(batches)
        assert (done.num_rows, in_hand.num_rows) == (40, 40)
    with streamlog_client.consumer(topic, group="arrow") as consumer:
        rest = pyarrow.table(consumer.until_end().arrow())
    assert rest.num_rows == 60
    both = pyarrow.Table.from_batches([done])["value"].to_pylist() + rest["value"].to_pylist()
    assert sorted(map(int, both)) == list(range(100))


def test_streams_have_batches_of_their_own(streamlog_client: streamlog.Client, topic: str) -> None:
    with streamlog_client.consumer(topic) as consumer:
        streams = consumer.streams(2)
        for number, stream in enumerate(streams):
            assert offsets(next(stream.arrow(max_rows=50, max_wait=5)), number) == list(range(50))
        with pytest.raises(streamlog.ConfigError, match="given out by its streams"):
            next(consumer.arrow())


def test_assignments_are_reported_before_their_first_batch(
    streamlog_client: streamlog.Client, topic: str
) -> None:
    told: list[list[tuple[str, int]]] = []
    with streamlog_client.consumer(topic, group=topic, on_assign=told.append) as consumer:
        assert next(consumer.arrow()).num_rows > 0
    assert sorted(told[0]) == [(topic, 0), (topic, 1)]


def test_decoders_have_no_part_in_batches(streamlog_client: streamlog.Client, topic: str) -> None:
    def fails(_: bytes) -> int:
        raise ValueError

    with streamlog_client.consumer(topic, value=fails) as consumer:
        table = pyarrow.table(consumer.until_end().arrow(columns=["value"]))
    assert sorted(map(int, table["value"].to_pylist())) == list(range(100))


@pytest.mark.parametrize("is_filling", [False, True], ids=["no-row", "some-rows"])
def test_closing_in_another_thread_ends_the_loop(
    streamlog_client: streamlog.Client, topic: str, is_filling: bool
) -> None:
    start: Literal["earliest", "latest"] = "earliest" if is_filling else "latest"
    consumer = streamlog_client.consumer(topic, start=start)
    with ThreadPoolExecutor(1) as pool:
        rows = pool.submit(lambda: sum(batch.num_rows for batch in consumer.arrow(max_wait=25)))
        # The position reaches the end, where the reader waits: all is delivered or skipped.
        until(lambda: sum(at or 0 for at in consumer.positions().values()) == 100)
        time.sleep(0.1)
        assert not rows.done()
        consumer.close()
        assert rows.result(5) == (100 if is_filling else 0)


def test_other_threads_run_while_one_waits(streamlog_client: streamlog.Client, topic: str) -> None:
    with (
        streamlog_client.consumer(topic, start="latest") as consumer,
        ThreadPoolExecutor(1) as pool,
    ):
        waiting = pool.submit(list, consumer.arrow())
        for _ in range(50):
            time.sleep(0.01)
        assert not waiting.done()
        consumer.close()
        assert waiting.result(5) == []


def interrupt_soon() -> threading.Timer:
    timer = threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGUSR1))
    timer.start()
    return timer


@pytest.fixture
def _raising() -> Iterator[None]:
    """Makes SIGUSR1 raise in the main thread."""

    def raises(*_: object) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGUSR1, raises)
    yield
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.usefixtures("_raising")
def test_messages_not_delivered_because_of_a_signal_are_read_again(
    streamlog_client: streamlog.Client, topic: str
) -> None:
    with streamlog_client.consumer(topic) as consumer:
        timer = interrupt_soon()
        begin = time.monotonic()
        with pytest.raises(Interrupted):
            next(consumer.arrow(max_wait=25))
        assert time.monotonic() - begin < 5
        timer.join()
        assert set(consumer.positions().values()) == {0}
        batch = next(consumer.arrow(max_rows=100, max_wait=10))
        assert offsets(batch, 0) == offsets(batch, 1) == list(range(50))


@pytest.mark.usefixtures("_raising")
def test_the_same_applies_to_reads_up_to_an_end(
    streamlog_client: streamlog.Client, topic: str
) -> None:
    with streamlog_client.consumer(topic) as consumer:
        messages = consumer.until_end()
        consumer.pause(1)
        timer = interrupt_soon()
        with pytest.raises(Interrupted):
            next(messages.arrow(max_wait=25))
        timer.join()
        consumer.resume(1)
        table = pyarrow.table(messages.arrow())
        assert sorted(map(int, table["value"].to_pylist())) == list(range(100))


def test_without_pyarrow_the_error_says_how_to_install_it(
    streamlog_client: streamlog.Client, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with streamlog_client.consumer(topic) as consumer:
        with pytest.raises(streamlog.MissingExtra, match=r"pip install 'pyarrow>=15'"):
            consumer.arrow()
        with pytest.raises(ImportError):
            streamlog_client.topic(topic).arrow()
        assert next(consumer).value is not None


def test_pyarrow_is_not_loaded_before_it_is_wanted() -> None:
    program = "import streamlog, sys; sys.exit('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
