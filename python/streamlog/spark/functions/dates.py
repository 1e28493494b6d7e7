"""The date of a row, for folders by date."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from streamlog.errors import ConfigError

__all__ = ["with_date"]


def with_date(table: DataFrame, time: str = "timestamp", *, name: str = "date") -> DataFrame:
    """Adds the date of a time column, in the session's time zone.

    Files partitioned by the column are in folders such as ``date=2026-11-01``.

    Args:
        table: A table or a stream.
        time: A column, or an expression, with a time or a date.
        name: The name of the new column.

    Raises:
        ConfigError: The table already has a column of this name.

    Example:
        >>> row = spark.sql("SELECT TIMESTAMP '2026-11-01 08:00' AS timestamp")
        >>> with_date(row).selectExpr("CAST(date AS STRING)").collect()
        [Row(date='2026-11-01')]
    """
    if name in table.columns:
        raise ConfigError(f"name: the table has a column '{name}' already")
    return table.withColumn(name, F.to_date(F.expr(time)))
