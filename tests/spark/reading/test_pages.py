"""The pages about reading are followed, on the session that the other tests have."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pages.session import Session
from pages.test_pages import to_run


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    """A folder that Spark, too, takes paths from that do not say where they begin."""
    java: Any = spark._jvm
    files = java.org.apache.hadoop.fs.FileSystem.get(spark._jsc.hadoopConfiguration())
    before = files.getWorkingDirectory()
    files.setWorkingDirectory(java.org.apache.hadoop.fs.Path(str(tmp_path)))
    yield tmp_path
    files.setWorkingDirectory(before)


@pytest.mark.timeout(200)
@pytest.mark.parametrize("page", ["docs/spark/index.md", "docs/spark/reading.md"])
def test_the_page_can_be_followed(page: str, folder: Path) -> None:
    Session(folder, to_run(page)).follow()
    assert list(folder.glob("*-checkpoint")), "Spark wrote it elsewhere"
