"""The results of decoding: decoded rows, and dead letters.

A decoding function adds a column ``undecoded``: null, or the raw bytes and the reason.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamlog.errors import ConfigError

__all__ = ["dead_letters", "decoded", "strictly_decoded", "with_outcome"]

UNDECODED = "undecoded"


def decoded(table: DataFrame) -> DataFrame:
    """Returns the rows that decoded, without the column ``undecoded``.

    The other rows are in ``dead_letters`` of the same table.

    Raises:
        ConfigError: The table is not the result of a decoding function.

    Example:
        >>> lines = spark.sql("SELECT * FROM VALUES ('1,ada'), ('2') AS t(value)")
        >>> decoded(decode_csv(lines, "id INT, name STRING")).collect()
        [Row(value=Row(id=1, name='ada'))]
    """
    _check(table)
    return table.where(F.col(UNDECODED).isNull()).drop(UNDECODED)


def strictly_decoded(table: DataFrame) -> DataFrame:
    """Returns the rows like ``decoded``, but ends the query at the first row that did not decode.

    The error names the row's topic, partition and offset if it has them.

    Raises:
        ConfigError: The table is not the result of a decoding function.

    Example:
        >>> lines = spark.sql("SELECT * FROM VALUES ('2') AS t(value)")
        >>> strictly_decoded(decode_csv(lines, "id INT, name STRING")).collect()
        Traceback (most recent call last):
        pyspark.errors...: ...a record does not decode: not a line of CSV that fits the schema...
    """
    _check(table)
    places = [name for name in ("topic", "partition", "offset") if name in table.columns]
    where = [F.concat(F.lit(f", {name} "), F.col(name).cast("string")) for name in places]
    reason = F.concat(F.lit("a record does not decode: "), F.col(f"{UNDECODED}.error"), *where)
    # Spark keeps a filter in the plan, but would remove a column that is not used.
    is_decoded = F.when(F.col(UNDECODED).isNull(), F.lit(True))
    return table.where(is_decoded.otherwise(F.raise_error(reason).cast("boolean"))).drop(UNDECODED)


def dead_letters(table: DataFrame) -> DataFrame:
    """Returns a record for each row that did not decode: ``key``, ``value`` and ``headers``.

    A letter has the key, the bytes and the headers of its record (if the table has them), and
    further headers: ``streamlog-error`` and, for a topic, ``streamlog-topic``,
    ``streamlog-partition`` and ``streamlog-offset``, as written by streamlog's consumers.

    Raises:
        ConfigError: The table is not the result of a decoding function.

    Example:
        >>> lines = spark.sql("SELECT * FROM VALUES ('1,ada'), ('2') AS t(value)")
        >>> letters = dead_letters(decode_csv(lines, "id INT, name STRING"))
        >>> letters.selectExpr("CAST(value AS STRING)", "headers[0].key").collect()
        [Row(value='2', headers[0].key='streamlog-error')]
    """
    _check(table)
    names = {"streamlog-error": f"{UNDECODED}.error"}
    for name in ("topic", "partition", "offset"):
        if name in table.columns:
            names[f"streamlog-{name}"] = name
    headers: Column = F.array(*(_header(name, column) for name, column in names.items()))
    if "headers" in table.columns:
        kept = F.coalesce(
            F.col("headers"), F.array().cast("array<struct<key:string,value:binary>>")
        )
        headers = F.concat(kept, headers)
    key = F.col("key") if "key" in table.columns else F.lit(None)
    value = F.col(f"{UNDECODED}.value")
    letters = table.where(F.col(UNDECODED).isNotNull())
    return letters.select(
        key.cast("binary").alias("key"), value.alias("value"), headers.alias("headers")
    )


def with_outcome(
    table: DataFrame, column: str, value: Column, reasons: Sequence[tuple[Column, str]]
) -> DataFrame:
    """Replaces a column by its decoded value, unless one of the reasons applies."""
    error = F.lit(None).cast("string")
    for is_so, reason in reversed(reasons):
        error = F.when(is_so, F.lit(reason)).otherwise(error)
    return with_error(table, column, value, error)


def with_error(table: DataFrame, column: str, value: Column, error: Column) -> DataFrame:
    """Replaces a column by its decoded value, unless there is an error. A null stays null."""
    raw = F.col(column)
    found = F.when(raw.isNotNull(), error)
    kept = F.struct(raw.cast("binary").alias("value"), found.alias("error"))
    undecoded = F.when(found.isNotNull(), kept)
    meant = F.when(raw.isNotNull() & found.isNull(), value)
    return table.withColumns({column: meant, UNDECODED: undecoded})


def _header(name: str, column: str) -> Column:
    value = F.col(column).cast("string").cast("binary")
    return F.struct(F.lit(name).alias("key"), value.alias("value"))


def _check(table: DataFrame) -> None:
    if UNDECODED not in table.columns:
        message = f"the table has no column '{UNDECODED}': expected what decode_json, decode_csv "
        raise ConfigError(message + "or decode_avro returned")
