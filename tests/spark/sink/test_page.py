"""The page about writing runs on the shared session."""

from pathlib import Path

from pyspark.sql import SparkSession

from pages.session import Session
from pages.test_pages import to_run


def test_the_page_can_be_followed(spark: SparkSession, tmp_path: Path) -> None:
    assert SparkSession.getActiveSession() is spark
    Session(tmp_path, to_run("docs/spark/writing.md")).follow()
