"""The page about Kafka's connector runs, with the jars of the other tests."""

from pathlib import Path

from pyspark.sql import SparkSession

from pages.blocks import ROOT
from pages.session import Session
from pages.test_pages import to_run
from spark.connector.jars import JARS

PAGE = "docs/spark/kafka.md"


def test_the_page_can_be_followed(kafka: SparkSession, tmp_path: Path) -> None:
    assert kafka.version
    Session(tmp_path, to_run(PAGE)).follow()


def test_the_page_names_the_jars_that_are_tested() -> None:
    text = (ROOT / PAGE).read_text()
    assert [f'"{module}:{version}"' in text for module, version in JARS.items()] == [True] * 4
