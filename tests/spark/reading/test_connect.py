"""Topics through Spark Connect."""

import json
import subprocess
import sys
from pathlib import Path

import streamlog
from py.support.broker import BrokerProcess
from spark.reading.rows import fill
from spark.support.connect import ConnectServer

CONNECTED = Path(__file__).with_name("connected.py")


def test_a_topic_is_read_through_connect(
    connect_server: ConnectServer,
    broker: BrokerProcess,
    client: streamlog.Client,
    topic: str,
    tmp_path: Path,
) -> None:
    fill(client, topic, 100)
    words = [connect_server.address, broker.address, topic, str(tmp_path)]
    done = subprocess.run(
        [sys.executable, str(CONNECTED), *words],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    assert found == {"is_connect": True, "table": 100, "filtered": 10, "streamed": 100}
