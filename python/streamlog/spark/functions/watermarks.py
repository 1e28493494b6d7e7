"""Watermarks of streams: the maximal lateness of a row."""

from pyspark.sql import DataFrame

__all__ = ["has_watermark", "watermarked"]

_KEY = "spark.watermarkDelayMs"


def has_watermark(table: DataFrame) -> bool:
    """Returns true if a column of the table has a watermark."""
    return any(_KEY in field.metadata for field in table.schema)


def watermarked(table: DataFrame, time: str, delay: str) -> DataFrame:
    """Returns the stream with its own watermark, or with this delay; tables unchanged."""
    if not table.isStreaming or has_watermark(table):
        return table
    return table.withWatermark(time, delay)
