"""The page about writing is followed on the session of the tests."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pages.session import Session
from pages.test_pages import to_run


@pytest.mark.timeout(240)
def test_the_page_can_be_followed(spark: SparkSession, tmp_path: Path) -> None:
    assert SparkSession.getActiveSession() is spark
    Session(tmp_path, to_run("docs/spark/writing.md")).follow()
