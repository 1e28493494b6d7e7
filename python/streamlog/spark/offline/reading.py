"""Reading loaded records, up to the last finished load."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from streamlog.errors import ConfigError
from streamlog.spark.offline.ledger import Ledger

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SCHEMA", "loaded"]

SCHEMA = (
    "partition int, offset long, timestamp timestamp, timestampType int, key binary, value binary, "
    "headers array<struct<key: string, value: binary>>, topic string, date date"
)
"""The columns of the files, and of their paths."""

_PLAN = re.compile(r"load-(\d+)-")


def loaded(
    spark: "SparkSession", path: str | os.PathLike[str], topics: str | None = None
) -> "DataFrame":
    """Returns the records of all finished loads as a table.

    Any reader of Parquet sees each record once, but may see some records of a running load; this
    table ends where the last finished load ended, in every partition.

    Args:
        spark: A session.
        path: The folder of the loads.
        topics: Names of topics, separated by commas; all if omitted.

    Raises:
        ConfigError: The folder was not created by a load, or has no such topic.

    Example:
        >>> streamlog.spark.loaded(spark, folder).select("offset", "key").count()
        3
    """
    ledger = Ledger(path)
    if not (ledger.hidden / "load.json").is_file():
        raise ConfigError(f"path: no load has made '{ledger.path}': streamlog.spark.load() does")
    newest = ledger.finished()
    files = [
        str(file)
        for folder in _folders(ledger.path, topics)
        for file in sorted(folder.glob("date=*/load-*.parquet"))
        if _number(file) <= newest
    ]
    if not files:
        return spark.createDataFrame([], SCHEMA)
    return spark.read.schema(SCHEMA).option("basePath", str(ledger.path)).parquet(*files)


def _folders(path: Path, topics: str | None) -> list[Path]:
    if topics is None:
        return sorted(path.glob("topic=*"))
    folders = [path / f"topic={topic.strip()}" for topic in topics.split(",")]
    for folder in folders:
        if not folder.is_dir():
            raise ConfigError(f"topics: '{path}' has nothing of '{folder.name[len('topic=') :]}'")
    return folders


def _number(file: Path) -> int:
    found = _PLAN.match(file.name)
    assert found is not None, f"{file.name} is no file of a load"
    return int(found[1])
