"""Encoding of rows as records of a topic."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

__all__ = ["encode_json"]

_OF_THE_RECORD = ("headers", "topic", "partition")


def encode_json(table: DataFrame, *, key: str | None = None) -> DataFrame:
    """Encodes each row as the ``value`` of a record, a JSON object with a field for each column.

    Columns with null are left out of the object. ``headers``, ``topic`` and ``partition`` stay
    columns of their own, which the sink of topics uses.

    Args:
        table: A table or a stream.
        key: An expression of Spark SQL for the key of a record, if it has one.

    Example:
        >>> row = spark.sql("SELECT 7 AS id, 'pen' AS item")
        >>> [(bytes(row.key), bytes(row.value)) for row in encode_json(row, key="item").collect()]
        [(b'pen', b'{"id":7,"item":"pen"}')]
    """
    kept = [name for name in table.columns if name in _OF_THE_RECORD]
    columns = [F.col(f"`{name}`") for name in table.columns if name not in kept]
    keys: list[Column] = []
    if key is not None:
        keys.append(F.expr(key).cast("string").cast("binary").alias("key"))
    value = F.to_json(F.struct(*columns)).cast("binary").alias("value")
    return table.select(*keys, value, *kept)
