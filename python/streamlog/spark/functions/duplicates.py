"""Removal of duplicate rows."""

from collections.abc import Sequence

from pyspark.sql import DataFrame

from streamlog.errors import ConfigError
from streamlog.spark.durations import Duration
from streamlog.spark.functions.watermarks import has_watermark, watermarked

__all__ = ["deduplicate"]


def deduplicate(
    table: DataFrame,
    by: Sequence[str],
    *,
    within: str | None = None,
    time: str = "timestamp",
) -> DataFrame:
    """Keeps one of the rows that are equal in some columns.

    In a table it is any of these rows, in a stream the first to arrive. A stream keeps state for as
    long as the watermark on `time` admits late rows, so that the state stays small. A duplicate
    that arrives later is not recognised.

    Args:
        table: A table or a stream.
        by: The columns.
        within: The maximal time between duplicates of a stream, as ``"10 minutes"``. It is the
            watermark of a stream that has none yet.
        time: The column for that watermark.

    Raises:
        ConfigError: `by` is empty, or neither `within` nor a watermark limits a stream's state, or
            `within` is not a duration.

    Example:
        >>> rows = spark.sql("SELECT * FROM VALUES (1, 'a'), (1, 'a'), (2, 'a') AS t(id, name)")
        >>> deduplicate(rows, ["id"]).count()
        2
    """
    if not by:
        raise ConfigError("by: there are no columns")
    apart = None if within is None else Duration.of(within, "within")
    if not table.isStreaming:
        return table.dropDuplicates(list(by))
    if apart is not None:
        table = watermarked(table, time, apart.text)
    elif not has_watermark(table):
        message = "within: a stream without a watermark would remember all rows for ever; "
        raise ConfigError(message + "say how far apart duplicates can be, as '10 minutes'")
    return table.dropDuplicatesWithinWatermark(list(by))
