"""Audits of producers, topics and loads; the page and the docstrings run."""

from datetime import UTC, datetime, timezone
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, DocTestRunner
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import streamlog
from pages.docstrings import docstrings
from pages.session import Session
from pages.test_pages import to_run
from streamlog.errors import ConfigError
from streamlog.spark import audit
from streamlog.spark.audit import compare_tiers, count_windows, missing_counts, published_counts


def test_the_page_can_be_followed(spark: SparkSession, tmp_path: Path) -> None:
    assert spark.range(1).count() == 1
    Session(tmp_path, to_run("docs/spark/audit.md")).follow()


def test_the_examples_do_what_they_show(spark: SparkSession) -> None:
    with streamlog.Broker() as broker, broker.connect() as client:
        with client.producer(audit="front") as producer:
            producer.send_all("orders", [b"1", b"2", b"3"])
        names = {name: getattr(audit, name) for name in audit.__all__}
        names |= {
            "spark": spark,
            "bootstrap": broker.address,
            "datetime": datetime,
            "timezone": timezone,
        }
        for docstring in docstrings():
            if docstring.path.endswith("spark/audit.py") and ">>>" in docstring.text:
                said: list[str] = []
                runner = DocTestRunner(optionflags=ELLIPSIS | NORMALIZE_WHITESPACE)
                runner.run(docstring.examples(names), out=said.append)
                assert said == [], "".join(said)


def test_counts_that_were_published_twice_count_once_and_gaps_are_named(
    spark: SparkSession,
) -> None:
    with streamlog.Broker() as broker, broker.connect() as client:
        with client.producer(audit="front", audit_window=60.0) as producer:
            for minute in range(3):
                time = datetime(2026, 11, 1, 12, minute, tzinfo=UTC)
                producer.send_all("orders", [b"x"] * 5)
                producer.send("orders", b"y", timestamp=time)
        told = [message.value for message in client.topic(audit.AUDIT_TOPIC).read()]
        with client.producer() as again:
            again.send(audit.AUDIT_TOPIC, told[0] or b"")
        counts = published_counts(spark, bootstrap=broker.address)
        assert counts.groupBy().sum("records").first() == (18,)
        assert missing_counts(spark, bootstrap=broker.address).count() == 0
        log = spark.read.format("streamlog").option("bootstrap", broker.address)
        log = log.option("subscribe", "orders")
        counted = count_windows(log.load(), "log", window=60.0)
        verdicts = compare_tiers(counts.union(counted), against="front").collect()
        assert len(verdicts) >= 4
        assert {row.verdict for row in verdicts} == {"complete"}
        with client.producer() as later:
            later.send(audit.AUDIT_TOPIC, (told[-1] or b"").replace(b'"number":', b'"number":1'))
        gaps = missing_counts(spark, bootstrap=broker.address).collect()
        assert [(row.tier, row.missing > 0) for row in gaps] == [("front", True)]


def test_a_table_that_cannot_be_counted_is_refused(spark: SparkSession) -> None:
    with pytest.raises(ConfigError, match="no column 'timestamp'"):
        count_windows(spark.createDataFrame([("a",)], "topic string"), "lake")
    rows = spark.createDataFrame([], "topic string, timestamp timestamp")
    with pytest.raises(ConfigError, match="window: invalid value 0"):
        count_windows(rows, "lake", window=0)
