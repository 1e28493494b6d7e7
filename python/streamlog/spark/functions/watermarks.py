"""How late a row of a stream may be."""

from pyspark.sql import DataFrame

__all__ = ["has_watermark", "watermarked"]

_KEY = "spark.watermarkDelayMs"


def has_watermark(table: DataFrame) -> bool:
    """Whether a column of the table carries one."""
    return any(_KEY in field.metadata for field in table.schema)


def watermarked(table: DataFrame, time: str, delay: str) -> DataFrame:
    """The stream with a watermark: its own, or else one of this delay. Tables need none."""
    if not table.isStreaming or has_watermark(table):
        return table
    return table.withWatermark(time, delay)
