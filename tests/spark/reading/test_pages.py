"""The pages about reading run, on the shared session."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pages.session import Session
from pages.test_pages import to_run


@pytest.mark.parametrize("page", ["docs/spark/index.md", "docs/spark/reading.md"])
def test_the_page_can_be_followed(spark: SparkSession, page: str, tmp_path: Path) -> None:
    assert spark.version
    Session(tmp_path, to_run(page)).follow()
