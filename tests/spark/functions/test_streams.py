"""Windows, duplicates and joins on streams of files, batch by batch."""

import json
import os
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from streamlog.errors import ConfigError
from streamlog.spark import deduplicate, join_streams, join_table, window_aggregate

_names = count()


class Feed:
    """A stream of rows with a time and an id, from files in a folder: one file is one batch."""

    def __init__(self, spark: SparkSession, folder: Path, name: str = "feed") -> None:
        """Starts without rows."""
        self._spark = spark
        self._folder = folder / name
        self._folder.mkdir()
        self._files = 0

    def add(self, *rows: tuple[str, int]) -> None:
        """Adds a batch of rows, each the minute and second of an hour and an id."""
        lines = [
            json.dumps({"timestamp": f"2026-11-01T08:{time}Z", "id": number})
            for time, number in rows
        ]
        path = self._folder / f"{self._files:03}.json"
        path.write_text("\n".join(lines))
        # Spark orders files by modification time.
        os.utime(path, (1_700_000_000 + self._files,) * 2)
        self._files += 1

    def stream(self) -> DataFrame:
        """Returns the rows as a stream, a batch for each file."""
        reader = self._spark.readStream.schema("timestamp TIMESTAMP, id INT")
        return reader.option("maxFilesPerTrigger", 1).json(str(self._folder))

    def table(self) -> DataFrame:
        """Returns all existing rows as a table."""
        return self._spark.read.schema("timestamp TIMESTAMP, id INT").json(str(self._folder))


Rows = Callable[[DataFrame, str], list[tuple[object, ...]]]


@pytest.fixture
def rows(spark: SparkSession, tmp_path: Path) -> Rows:
    """Runs a stream over all files, and returns these columns of its output in append mode."""

    def run(stream: DataFrame, columns: str) -> list[tuple[object, ...]]:
        name = f"rows_{next(_names)}"
        writer = stream.writeStream.format("memory").queryName(name)
        writer = writer.option("checkpointLocation", str(tmp_path / name))
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(90)
        return sorted(tuple(row) for row in spark.sql(f"SELECT {columns} FROM {name}").collect())

    return run


def test_a_window_is_emitted_once_the_watermark_has_passed_it(
    spark: SparkSession, tmp_path: Path, rows: Rows
) -> None:
    feed = Feed(spark, tmp_path)
    feed.add(("00:10", 1), ("04:50", 1), ("05:00", 1))
    feed.add(("04:59", 2), ("30:00", 3))
    feed.add(("31:00", 3))
    stream = feed.stream().withWatermark("timestamp", "10 minutes")
    counts = window_aggregate(stream, {"n": "count(*)", "top": "max(id)"}, length="5 minutes")
    shown = "date_format(window_start, 'mm') AS start, date_format(window_end, 'mm'), n, top"
    assert rows(counts, shown) == [("00", "05", 3, 2), ("05", "10", 1, 1)]


def test_sliding_windows_overlap_and_sessions_end_in_silence(
    spark: SparkSession, tmp_path: Path
) -> None:
    feed = Feed(spark, tmp_path)
    feed.add(("00:00", 1), ("01:00", 1), ("09:00", 1), ("09:30", 2))
    sliding = window_aggregate(
        feed.table().where("id = 1"), {"n": "count(*)"}, length="4 minutes", slide="2 minutes"
    )
    shown = ["date_format(window_start, 'HH:mm') AS start", "n"]
    assert [tuple(row) for row in sliding.selectExpr(*shown).orderBy("start").collect()] == [
        ("07:58", 2),
        ("08:00", 2),
        ("08:06", 1),
        ("08:08", 1),
    ]
    sessions = window_aggregate(feed.table(), {"n": "count(*)"}, gap="5 minutes", by=["id"])
    shown = ["id", "date_format(window_start, 'mm:ss') AS start", "n"]
    assert sorted(tuple(row) for row in sessions.selectExpr(*shown).collect()) == [
        (1, "00:00", 2),
        (1, "09:00", 1),
        (2, "09:30", 1),
    ]


def test_a_window_that_is_invalid_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    feed = Feed(spark, tmp_path)
    feed.add(("00:00", 1))
    table = feed.table()
    with pytest.raises(ConfigError, match="length, gap"):
        window_aggregate(table, {"n": "count(*)"})
    with pytest.raises(ConfigError, match="length, gap"):
        window_aggregate(table, {"n": "count(*)"}, length="1 minute", gap="1 minute")
    with pytest.raises(ConfigError, match="slide"):
        window_aggregate(table, {"n": "count(*)"}, gap="1 minute", slide="1 minute")
    with pytest.raises(ConfigError, match="aggregates"):
        window_aggregate(table, {}, length="1 minute")


def test_a_duplicate_is_dropped_across_batches(
    spark: SparkSession, tmp_path: Path, rows: Rows
) -> None:
    feed = Feed(spark, tmp_path)
    feed.add(("00:00", 1), ("00:01", 1), ("00:02", 2))
    feed.add(("00:30", 1), ("00:31", 3))
    unique = deduplicate(feed.stream(), ["id"], within="10 minutes")
    assert rows(unique, "id") == [(1,), (2,), (3,)]
    with pytest.raises(ConfigError, match="for ever"):
        deduplicate(feed.stream(), ["id"])
    with pytest.raises(ConfigError, match="by"):
        deduplicate(feed.stream(), [])


def test_streams_join_as_tables_do(spark: SparkSession, tmp_path: Path, rows: Rows) -> None:
    left, right = Feed(spark, tmp_path, "left"), Feed(spark, tmp_path, "right")
    left.add(("00:00", 1), ("00:00", 2), ("00:00", 3))
    left.add(("50:00", 4))
    right.add(("04:00", 1), ("06:00", 2))
    right.add(("50:00", 4))
    shown = "id, date_format(timestamp, 'mm'), date_format(timestamp_right, 'mm')"
    joined = join_streams(left.stream(), right.stream(), ["id"], within="5 minutes")
    found = rows(joined, shown)
    assert found == [(1, "00", "04"), (4, "50", "50")]
    joined = join_streams(left.table(), right.table(), ["id"], within="5 minutes")
    joined.createOrReplaceTempView("joined")
    assert sorted(tuple(row) for row in spark.sql(f"SELECT {shown} FROM joined").collect()) == found


def test_a_stream_is_joined_with_a_table(spark: SparkSession, tmp_path: Path, rows: Rows) -> None:
    feed = Feed(spark, tmp_path)
    feed.add(("00:00", 1), ("00:00", 2))
    names = spark.sql("SELECT * FROM VALUES (1, 'ada') AS t(id, name)")
    assert rows(join_table(feed.stream(), names, ["id"]), "id, name") == [(1, "ada")]
    with pytest.raises(ConfigError, match="join_streams"):
        join_table(names, feed.stream(), ["id"])
    for how in ("right", "full"):
        with pytest.raises(
            ConfigError, match=f"how: invalid value '{how}': expected inner or left"
        ):
            join_table(names, names, ["id"], how=how)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="expected inner or left or right or full"):
        join_streams(names, names, ["id"], within="1 hour", how="x")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="right side has no column 'timestamp'"):
        join_streams(feed.stream(), names, ["id"], within="5 minutes")
