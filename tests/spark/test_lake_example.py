"""The example of repeated loads, killed and restarted."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import streamlog
from py.support.broker import BrokerProcess, until
from spark.support.loads import publish, rows_of_files, rows_of_log

EXAMPLE = Path(__file__).parents[2] / "examples" / "lake.py"
PATIENCE = 120

Start = Callable[[], "subprocess.Popen[bytes]"]


@pytest.fixture
def start(broker: BrokerProcess, topic: str, tmp_path: Path) -> Iterator[Start]:
    """Starts the example with loads every tenth of a second; all are killed at the end."""
    started = []

    def start() -> "subprocess.Popen[bytes]":
        command: list[str | Path] = [
            sys.executable,
            EXAMPLE,
            tmp_path / "lake",
            f"{topic}.*",
            "0.1",
        ]
        environment = {**os.environ, "STREAMLOG_BOOTSTRAP": broker.address}
        started.append(subprocess.Popen(command, cwd=tmp_path, env=environment))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_records_between_killed_loads_are_loaded_once(
    start: Start, client: streamlog.Client, topic: str, tmp_path: Path
) -> None:
    client.admin.create_topic(topic, partitions=2)
    for _ in range(2):
        publish(client, topic, 50)
        process = start()
        until(lambda: rows_of_files(tmp_path / "lake") == rows_of_log(client, [topic]), PATIENCE)
        publish(client, topic, 50)
        until(lambda: rows_of_files(tmp_path / "lake") == rows_of_log(client, [topic]), PATIENCE)
        assert process.poll() is None
        process.kill()
        process.wait()
    assert rows_of_log(client, [topic]).total() == 200
