"""The page about loads, and the examples in their docstrings, run."""

from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, DocTestRunner
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import streamlog
from pages.docstrings import Docstring, docstrings
from pages.session import Session
from pages.test_pages import to_run
from py.support.broker import BrokerProcess

EXAMPLES = [
    docstring
    for docstring in docstrings()
    if docstring.path.startswith("python/streamlog/spark/offline/") and ">>>" in docstring.text
]


def test_the_page_can_be_followed(spark: SparkSession, tmp_path: Path) -> None:
    assert spark.range(1).count() == 1
    Session(tmp_path, to_run("docs/spark/load.md")).follow()


def test_the_examples_do_what_they_show(
    spark: SparkSession,
    broker: BrokerProcess,
    client: streamlog.Client,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("STREAMLOG_BOOTSTRAP", broker.address)
    client.admin.create_topic("orders", exist_ok=True)
    with client.producer() as producer:
        producer.send_all("orders", [b"1", b"2", b"3"])
    folder = str(tmp_path / "lake")
    names = {"spark": spark, "folder": folder, "streamlog": streamlog}
    assert [example.name for example in EXAMPLES] == ["load", "loaded"]
    for example in EXAMPLES:
        said: list[str] = []
        runner = DocTestRunner(optionflags=ELLIPSIS | NORMALIZE_WHITESPACE)
        runner.run(Docstring.examples(example, dict(names)), out=said.append)
        assert said == [], "".join(said)
