"""Aggregates over time windows."""

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamlog.errors import ConfigError
from streamlog.spark.durations import Duration

__all__ = ["window_aggregate"]


def window_aggregate(
    table: DataFrame,
    aggregates: Mapping[str, str],
    *,
    length: str | None = None,
    slide: str | None = None,
    gap: str | None = None,
    time: str = "timestamp",
    by: Sequence[str] = (),
) -> DataFrame:
    """Aggregates the rows of each window, and of each group in it.

    With ``length`` alone, windows are tumbling: adjacent and disjoint. With ``slide`` as well, a
    window of that length begins at every slide, and a row belongs to several. With ``gap`` they are
    sessions: a session ends after that long without a row.

    The columns are ``window_start``, ``window_end`` (excluded), the columns of ``by``, and the
    aggregates. A stream in append mode emits a window once the watermark of `time` has passed its
    end.

    Args:
        table: A table, or a stream with a watermark on `time`.
        aggregates: Expressions of Spark SQL, by the names of their columns.
        length: The length of a window, as ``"5 minutes"``.
        slide: The time between the starts of windows; by default their length.
        gap: The length of a silence that ends a session.
        time: The column with the time of a row.
        by: Columns, or expressions, to group by.

    Raises:
        ConfigError: Not exactly one of `length` and `gap` is given, or no aggregate; or a duration
            is invalid.

    Example:
        >>> rows = spark.sql('''SELECT * FROM VALUES (TIMESTAMP '2026-11-01 08:01', 'ada'),
        ...     (TIMESTAMP '2026-11-01 08:04', 'ada') AS t(timestamp, name)''')
        >>> counts = window_aggregate(rows, {"n": "count(*)"}, length="5 minutes", by=["name"])
        >>> counts.selectExpr("CAST(window_end AS STRING)", "name", "n").collect()
        [Row(window_end='2026-11-01 08:05:00', name='ada', n=2)]
    """
    if (length is None) == (gap is None):
        raise ConfigError("length, gap: expected exactly one of them")
    if slide is not None and length is None:
        raise ConfigError("slide: sessions do not slide; give length, or leave slide out")
    if not aggregates:
        raise ConfigError("aggregates: there are none")
    window = _window(time, length, slide, gap)
    groups = [F.expr(name) for name in by]
    columns = [F.expr(text).alias(name) for name, text in aggregates.items()]
    found = table.groupBy(window.alias("window"), *groups).agg(*columns)
    rest = [F.col(f"`{name}`") for name in found.columns if name != "window"]
    start, end = F.col("window.start"), F.col("window.end")
    return found.select(start.alias("window_start"), end.alias("window_end"), *rest)


def _window(time: str, length: str | None, slide: str | None, gap: str | None) -> Column:
    if length is None:
        # Spark would turn an invalid gap into null, and drop all rows.
        return F.session_window(time, Duration.of(str(gap), "gap").text)
    apart = None if slide is None else Duration.of(slide, "slide").text
    return F.window(time, Duration.of(length, "length").text, apart)
