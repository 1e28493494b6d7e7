"""A broker's system calls, traced with strace; needs strace and the permission to trace.

`make test` leaves it out, because not every machine has strace; `make check-trace` runs it.
"""

import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from py.support.broker import BrokerProcess, until

TOPIC = "traced"
RECORD = b"v" * 1000
RECORDS = 30_000

IDLE_SECONDS = 5.0
SETTLED_SECONDS = 3.0
"""The time after which all effects of the last request are finished."""

CALL = re.compile(r"(?:<\.\.\. )?(\w+)(?:\(| resumed).* = (\d+)")
"""A system call that returned a number: its name, and the number."""


@contextmanager
def traced(broker: BrokerProcess, path: Path, *options: str) -> Iterator[None]:
    """Traces all threads of the broker into a file, each line beginning with the time."""
    strace = shutil.which("strace")
    assert strace, "strace is missing: `make check-trace` installs it"
    assert broker.process is not None
    command = [strace, "-f", "-ttt", "-o", str(path), *options, "-p", str(broker.process.pid)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert "attached" in line, line
        try:
            yield
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(10)


def rows(path: Path) -> Iterator[tuple[float, str]]:
    """Returns time and text of every line of a trace."""
    for row in path.read_text(errors="replace").splitlines():
        _, moment, text = row.split(maxsplit=2)
        yield float(moment), text


def produce(broker: BrokerProcess) -> None:
    """Writes all records."""
    producer = Producer({"bootstrap.servers": broker.address, "queue.buffering.max.kbytes": 65536})
    for _ in range(RECORDS):
        producer.produce(TOPIC, RECORD, partition=0)
    assert producer.flush(20) == 0


def consume(broker: BrokerProcess) -> None:
    """Reads all records, 1 MB at a time."""
    options = {"fetch.max.bytes": 1 << 20, "max.partition.fetch.bytes": 1 << 20}
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "unused", **options})
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    count = 0

    def is_done() -> bool:
        nonlocal count
        messages = consumer.consume(10_000, timeout=0.1)
        assert all(message.value() == RECORD for message in messages)
        count += len(messages)
        return count >= RECORDS

    until(is_done, 30)
    consumer.close()


@pytest.mark.timeout(120)
def test_records_leave_by_sendfile(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        produce(broker)
        trace = tmp_path / "trace"
        with traced(broker, trace, "-e", "trace=sendfile,sendmsg,sendto,write,writev"):
            consume(broker)
    sent: Counter[str] = Counter()
    for _, text in rows(trace):
        if found := CALL.match(text):
            sent[found[1]] += int(found[2])
    share = sent["sendfile"] / sent.total()
    print(f"{share:.2%} of {sent.total():,} bytes by sendfile: {dict(sent)}")
    assert sent.total() > RECORDS * len(RECORD)
    assert share >= 0.95


@pytest.mark.timeout(120)
def test_an_idle_broker_sleeps(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        produce(broker)
        consume(broker)
        time.sleep(SETTLED_SECONDS)
        trace = tmp_path / "trace"
        with traced(broker, trace):
            # Attaching strace wakes every thread once.
            time.sleep(1)
            begin = time.time()
            time.sleep(IDLE_SECONDS)
            end = time.time()
    calls = [text for moment, text in rows(trace) if begin < moment < end]
    assert calls == []
