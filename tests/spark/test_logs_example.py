"""The example of logs, page views and metrics: its parts, on the shared session."""

import json
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import Row, SparkSession

import streamlog
from logs import config, count, publish, watch
from logs.machines import Machines
from py.support.broker import BrokerProcess


@pytest.fixture
def settings(broker: BrokerProcess, topic: str, tmp_path: Path) -> config.Config:
    """Small settings with topics of their own."""
    whole = config.read()
    return replace(
        whole,
        bootstrap=broker.address,
        topics=config.Topics(f"{topic}-s", f"{topic}-p", f"{topic}-m", f"{topic}-a", 2),
        generator=replace(whole.generator, seconds=20, records_per_second=100),
        alerts=replace(whole.alerts, errors=4, checkpoint=str(tmp_path / "checkpoint")),
    )


@pytest.mark.timeout(120)
def test_the_alerts_are_those_of_the_truth(
    spark: SparkSession, client: streamlog.Client, settings: config.Config
) -> None:
    publish.create_topics(client, settings.topics)
    machines = Machines(settings)
    now = int(time.time() * 1000)
    with client.producer() as producer:
        for record in machines.records(now - 30_000):
            producer.send(
                record.topic, record.value, key=record.host.encode(), timestamp=record.time_ms
            )
        after = publish.time_after_all(settings)
        producer.send(settings.topics.metrics, b"{}", key=b"clock", timestamp=after)
    assert len(machines.alerts()) >= 3
    count.start(spark, settings, once=True).awaitTermination()
    values = [message.value or b"" for message in client.topic(settings.topics.alerts).read()]
    alerts = [json.loads(value) for value in values]
    found = Counter((alert["host"], alert["from_ms"], alert["errors"]) for alert in alerts)
    assert found == Counter((*place, errors) for place, errors in machines.alerts().items())
    assert all(alert["errors"] == alert["log_errors"] + alert["failed_pages"] for alert in alerts)
    lines = [watch.line(value) for value in values]
    assert all("errors: " in line and "example.org" in line for line in lines)


@pytest.mark.timeout(120)
def test_lines_of_real_logs_are_told_apart(spark: SparkSession) -> None:
    lines = {
        "<27>1 2026-11-21T22:00:00Z web nginx 1 - - connect() refused": True,
        "<30>1 2026-11-21T22:00:00Z web cron 1 - - error in the words only": False,
        "2026-11-21T22:00:00.1+00:00 web kernel: Out of memory: Killed process 7": True,
        "Nov 21 22:00:00 web sshd[7]: Failed password for root": True,
        "Nov 21 22:00:00 web sshd[7]: Accepted publickey": False,
        '1.2.3.4 - - [21/Nov/2026:22:00:00 +0000] "GET /error HTTP/1.1" 503 12 "-" "-"': True,
        '1.2.3.4 - - [21/Nov/2026:22:00:00 +0000] "GET / HTTP/1.1" 404 12 "-" "-"': False,
    }
    table = spark.createDataFrame([Row(line=line) for line in lines])
    is_page = table.line.startswith("1.2.3.4")
    found = table.select(
        "line", (is_page & count.is_failed_page(table.line)).alias("page"),
        (~is_page & count.is_error_line(table.line)).alias("log"),
    ).collect()  # fmt: skip
    assert {row.line: row.page or row.log for row in found} == lines


def test_a_file_is_followed_through_its_rotation(tmp_path: Path) -> None:
    path = tmp_path / "syslog"
    path.write_text("before\n")
    lines = publish.follow(path)
    with path.open("a") as file:
        file.write("first\nhalf")
    assert next(lines) == b"first"
    with path.open("a") as file:
        file.write(" and half\n")
    assert next(lines) == b"half and half"
    path.rename(tmp_path / "syslog.1")
    path.write_text("second\n")
    assert next(lines) == b"second"
    lines.close()


def test_a_setting_with_a_typo_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(config.FILE.read_text().replace("seconds = 25", "second = 25"))
    with pytest.raises(SystemExit, match=r"not known: \['second'\], missing: \['seconds'\]"):
        config.read(path)
