"""The whole command, as a process with its own Spark."""

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import IO

import streamlog
from py.support.broker import BrokerProcess, until
from py.support.terminal import drawn, terminal
from spark.connector.tables import digest, values_in

JOB = """
name = "copy"
master = "local[1]"
[stream]
trigger = "200 milliseconds"
checkpoint = "checkpoint"
[source.numbers]
topic = "{topic}"
start = "earliest"
[sink.copy]
from = "numbers"
topic = "{topic}.copy"
"""


TABLE = """
master = "local[1]"
[source.numbers]
topic = "{topic}"
[step.slow]
sql = "SELECT value FROM numbers WHERE java_method('java.lang.Thread', 'sleep', 2000L) IS NOT NULL"
[sink.copy]
from = "slow"
topic = "{topic}.copy"
"""


def start(folder: Path, address: str, out: IO[str]) -> "subprocess.Popen[str]":
    """Starts the command with this broker."""
    command = [sys.executable, "-m", "streamlog", "pipeline", "run", "job.toml"]
    variables = {**os.environ, "STREAMLOG_BOOTSTRAP": address}
    return subprocess.Popen(command, cwd=folder, env=variables, stderr=out, stdout=out, text=True)


def has_copied(log: Path, process: "subprocess.Popen[str]") -> bool:
    """Returns true if the command has reported its records, or has ended too early."""
    return "100 out" in log.read_text() or process.poll() is not None


def test_a_stream_runs_until_it_is_asked_to_stop(
    broker: BrokerProcess, client: streamlog.Client, topic: str, tmp_path: Path
) -> None:
    for name in (topic, topic + ".copy"):
        client.admin.create_topic(name, partitions=1)
    (tmp_path / "job.toml").write_text(JOB.format(topic=topic))
    values: list[bytes] = []
    for number, code in ((signal.SIGTERM, 0), (signal.SIGINT, 130)):
        new = [b"%d-%d" % (number, n) for n in range(100)]
        with client.producer() as producer:
            producer.send_all(topic, new)
        values += new
        log = tmp_path / f"{number}.log"
        with log.open("w") as out:
            process = start(tmp_path, broker.address, out)
        try:
            until(partial(has_copied, log, process), 100)
            process.send_signal(number)
            assert process.wait(100) == code, log.read_text()
        finally:
            process.kill()
            process.wait()
        told = [line for line in log.read_text().splitlines() if line.startswith("copy: ")]
        assert len(told) == 1, log.read_text()
        assert "100 rows in, 100 out" in told[0]
        assert told[0].endswith(f"lag {topic} 0")
    assert digest(values_in(client, topic + ".copy")) == digest(values)


def test_a_table_draws_a_bar_on_a_terminal(
    broker: BrokerProcess, client: streamlog.Client, topic: str, tmp_path: Path
) -> None:
    for name in (topic, topic + ".copy"):
        client.admin.create_topic(name, partitions=1)
    with client.producer() as producer:
        producer.send(topic, b"1")
    (tmp_path / "job.toml").write_text(TABLE.format(topic=topic))
    with terminal() as (ours, theirs):
        with os.fdopen(theirs, "w") as end:
            process = start(tmp_path, broker.address, end)
        lines = drawn(ours)
    assert process.wait(100) == 0, lines
    assert b"[Stage " in lines
    assert b"copy: 1 rows" in lines
    assert values_in(client, topic + ".copy") == [b"1"]
