"""Jobs on a Spark Connect server."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import streamlog
from py.support.broker import BrokerProcess
from spark.connector.tables import digest, values_in
from spark.support.connect import ConnectServer

JOB = """
master = "SERVER"
{kind}
[source.orders]
topic = "{topic}"
start = "earliest"
[step.read]
from = "orders"
decode = {{ schema = "id BIGINT NOT NULL, item STRING", dead_letters = "{topic}.dead" }}
[step.flat]
sql = "SELECT value.id, upper(value.item) AS item FROM read"
[sink.copy]
from = "flat"
topic = "{topic}.copy"
encode = "json"
key = "id"
"""
STREAM = """
[stream]
trigger = "available-now"
checkpoint = "checkpoint"
"""


Run = Callable[[str], "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(connect_server: ConnectServer, broker: BrokerProcess, tmp_path: Path) -> Run:
    """Runs a job with the command to its end, on the server `SERVER`."""

    def go(text: str) -> "subprocess.CompletedProcess[str]":
        (tmp_path / "job.toml").write_text(text.replace("SERVER", connect_server.address))
        return subprocess.run(
            [sys.executable, "-m", "streamlog", "pipeline", "run", "job.toml"],
            cwd=tmp_path,
            env={**os.environ, "STREAMLOG_BOOTSTRAP": broker.address},
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )

    return go


@pytest.mark.parametrize("kind", ["", STREAM])
def test_a_job_runs_on_a_server_of_spark_connect(
    run: Run, client: streamlog.Client, topic: str, kind: str
) -> None:
    for name in (topic, f"{topic}.dead", f"{topic}.copy"):
        client.admin.create_topic(name, partitions=2)
    broken = [b"broken %d" % number for number in range(20)]
    with client.producer() as producer:
        producer.send_all(topic, [*broken, *(b'{"id": %d, "item": "pen"}' % n for n in range(80))])
    done = run(JOB.format(topic=topic, kind=kind))
    assert done.returncode == 0, done.stderr
    copies = [json.loads(value) for value in values_in(client, f"{topic}.copy")]
    assert sorted(copy["id"] for copy in copies) == list(range(80))
    assert {copy["item"] for copy in copies} == {"PEN"}
    assert digest(values_in(client, f"{topic}.dead")) == digest(broken)
    told = [line for line in done.stderr.splitlines() if " rows" in line]
    counts = ["100 rows in, 80 out", "100 rows in, 20 out"] if kind else ["80 rows", "20 rows"]
    assert len(told) == 2, done.stderr
    assert all(count in line for count, line in zip(counts, sorted(told), strict=True))


def test_server_settings_and_missing_servers_are_reported_before_the_start(
    run: Run, client: streamlog.Client, topic: str
) -> None:
    client.admin.create_topic(topic)
    done = run(JOB.format(topic=topic, kind='[spark]\n"spark.executor.memory" = "1g"'))
    assert done.returncode == 2
    assert "'spark.executor.memory' is set where the server" in done.stderr
    nowhere = JOB.replace("SERVER", "sc://127.0.0.1:1/;token=secret")
    done = run(nowhere.format(topic=topic, kind=""))
    assert done.returncode == 3
    assert "no server of Spark Connect is at 127.0.0.1:1" in done.stderr
    assert "secret" not in done.stderr
