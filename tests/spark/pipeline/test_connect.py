"""Jobs whose Spark is a server of Spark Connect."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import streamlog
from py.support.broker import BrokerProcess
from spark.connector.tables import digest, values_in
from spark.support.connect import ConnectServer

JOB = """
master = "{server}"
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


def run(folder: Path, address: str, text: str) -> "subprocess.CompletedProcess[str]":
    """Runs a job by the command, to its end."""
    (folder / "job.toml").write_text(text)
    return subprocess.run(
        [sys.executable, "-m", "streamlog", "pipeline", "run", "job.toml"],
        cwd=folder,
        env={**os.environ, "STREAMLOG_BOOTSTRAP": address},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@pytest.mark.timeout(240)
@pytest.mark.parametrize("kind", ["", STREAM])
def test_a_job_runs_on_a_server_of_spark_connect(
    connect_server: ConnectServer,
    broker: BrokerProcess,
    client: streamlog.Client,
    topic: str,
    tmp_path: Path,
    kind: str,
) -> None:
    for name in (topic, f"{topic}.dead", f"{topic}.copy"):
        client.admin.create_topic(name, partitions=2)
    broken = [b"broken %d" % number for number in range(20)]
    with client.producer() as producer:
        producer.send_all(topic, [*broken, *(b'{"id": %d, "item": "pen"}' % n for n in range(80))])
    text = JOB.format(server=connect_server.address, topic=topic, kind=kind)
    done = run(tmp_path, broker.address, text)
    assert done.returncode == 0, done.stderr
    copies = [json.loads(value) for value in values_in(client, f"{topic}.copy")]
    assert sorted(copy["id"] for copy in copies) == list(range(80))
    assert {copy["item"] for copy in copies} == {"PEN"}
    assert digest(values_in(client, f"{topic}.dead")) == digest(broken)
    told = [line for line in done.stderr.splitlines() if " rows" in line]
    counts = ["100 rows in, 80 out", "100 rows in, 20 out"] if kind else ["80 rows", "20 rows"]
    assert len(told) == 2, done.stderr
    assert all(count in line for count, line in zip(counts, sorted(told), strict=True))
