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
    words = [connect_server.address, broker.address, topic, target, str(tmp_path)]
    done = subprocess.run(
        [sys.executable, str(CONNECTED), *words],
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    half, after, no_copies, idle = json.loads(done.stdout.splitlines()[-1])
    assert "died half way" in half
    assert "died afterwards" in after
    assert (no_copies, idle) == (None, None)
    assert counted(client, target) == counted(client, topic)
    assert counted_by_confluent(broker.address, target) == counted(client, topic)
