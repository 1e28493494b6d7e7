"""Batches are published once through Spark Connect, copied by the executors."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import streamlog
from py.support.broker import BrokerProcess
from spark.reading.rows import fill
from spark.sink.query import counted, counted_by_confluent
from spark.support.connect import ConnectServer

CONNECTED = Path(__file__).with_name("connected.py")


def queries(what: str, server: ConnectServer, *words: str) -> list[str | None]:
    """Runs queries in a process of their own, and returns their errors."""
    done = subprocess.run(
        [sys.executable, str(CONNECTED), what, server.address, *words],
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    errors: list[str | None] = json.loads(done.stdout.splitlines()[-1])
    return errors


@pytest.mark.timeout(300)
def test_each_row_is_published_once_through_connect_whatever_dies(
    connect_server: ConnectServer,
    broker: BrokerProcess,
    client: streamlog.Client,
    topic: str,
    tmp_path: Path,
) -> None:
    fill(client, topic, 500)
    target = f"{topic}-out"
    client.admin.create_topic(target, partitions=2)
    words = [broker.address, topic, target, str(tmp_path)]
    half, after, no_copies, idle = queries("published", connect_server, *words)
    assert "died half way" in str(half)
    assert "died afterwards" in str(after)
    assert (no_copies, idle) == (None, None)
    assert counted(client, target) == counted(client, topic)
    assert counted_by_confluent(broker.address, target) == counted(client, topic)


@pytest.mark.timeout(300)
@pytest.mark.xfail(
    strict=False,
    reason="on a loaded machine, Spark ends a query with an error of its own: its worker is late",
)
def test_a_publisher_is_refused_without_its_checkpoint_and_for_a_second_call(
    connect_server: ConnectServer,
    broker: BrokerProcess,
    client: streamlog.Client,
    topic: str,
    tmp_path: Path,
) -> None:
    fill(client, topic, 200)
    target = f"{topic}-out"
    for name in (target, f"{target}-refused"):
        client.admin.create_topic(name, partitions=2)
    words = [broker.address, topic, target, str(tmp_path)]
    published, unknown, other, twice = queries("refused", connect_server, *words)
    assert published is None
    assert "publisher.publishing(frame.writeStream, checkpoint)" in str(unknown)
    assert "does not run in the checkpoint" in str(other)
    assert "once for each batch" in str(twice)
    # Of the three refused queries, only the one that called twice has published: its first batch.
    assert counted(client, f"{target}-refused").total() == 100
