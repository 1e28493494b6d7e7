"""Joins of streams with streams, and with tables."""

from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import Literal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamlog.errors import ConfigError
from streamlog.spark.durations import Duration
from streamlog.spark.functions.watermarks import watermarked

__all__ = ["join_streams", "join_table"]


def join_streams(
    left: DataFrame,
    right: DataFrame,
    by: Sequence[str],
    *,
    within: str,
    time: str = "timestamp",
    how: Literal["inner", "left", "right", "full"] = "inner",
) -> DataFrame:
    """Joins rows that are equal in some columns and close to each other in time.

    The result has the columns of `by` once, then the other columns of the left side and of the
    right side; a name on both sides gets the suffix ``_right`` on the right. Tables are joined in
    the same way, so that a test with tables is valid for streams.

    Args:
        left: A stream, or a table.
        right: Another stream, or a table.
        by: The columns that have to be equal.
        within: The maximal time between two rows, as ``"10 minutes"``. It is the watermark of a
            stream that has none yet, and so limits the state.
        time: The column with the time of a row, on both sides.
        how: ``"left"``, ``"right"`` and ``"full"`` keep rows of that side without a match, once
            the watermark rules out later matches.

    Raises:
        ConfigError: `by` is empty, a column is missing on one side, `within` is not a duration, or
            `how` is invalid.

    Example:
        >>> orders = spark.sql("SELECT 1 AS id, TIMESTAMP '2026-11-01 08:00' AS timestamp")
        >>> payments = spark.sql("SELECT 1 AS id, TIMESTAMP '2026-11-01 08:07' AS timestamp")
        >>> join_streams(orders, payments, ["id"], within="10 minutes").count()
        1
        >>> join_streams(orders, payments, ["id"], within="5 minutes").count()
        0
    """
    most = Duration.of(within, "within").text
    _check_how(how, tuple(_HOW))
    _check(left, right, by, [*by, time])
    left, right = watermarked(left, time, most), watermarked(right, time, most)
    ours, theirs = F.col(f"l.{time}"), F.col(f"r.{time}")
    apart = F.expr(f"INTERVAL {most}")
    is_pair = _same(by) & (theirs >= ours - apart) & (theirs <= ours + apart)
    keys = [F.coalesce(F.col(f"l.{name}"), F.col(f"r.{name}")).alias(name) for name in by]
    joined = left.alias("l").join(right.alias("r"), is_pair, _HOW[how])
    return joined.select(*keys, *_others(left, right, by))


def join_table(
    rows: DataFrame,
    table: DataFrame,
    by: Sequence[str],
    *,
    how: Literal["inner", "left"] = "inner",
) -> DataFrame:
    """Joins each row of a stream with the rows of a table.

    The result has the same columns as with ``join_streams``. The table is read again for each batch
    of the stream, unless it is cached.

    Args:
        rows: A stream, or a table.
        table: A table, best with one row for each value of `by`; small tables are broadcast.
        by: The columns that have to be equal.
        how: ``"left"`` keeps rows without a match in the table.

    Raises:
        ConfigError: `by` is empty, a column is missing on one side, `table` is a stream, or `how`
            is invalid. Rows of the table without a match cannot be kept: they belong to no batch.

    Example:
        >>> orders = spark.sql("SELECT * FROM VALUES (1, 'pen'), (2, 'ink') AS t(id, item)")
        >>> prices = spark.sql("SELECT * FROM VALUES ('pen', 3) AS t(item, price)")
        >>> join_table(orders, prices, ["item"], how="left").orderBy("id").collect()
        [Row(item='pen', id=1, price=3), Row(item='ink', id=2, price=None)]
    """
    if table.isStreaming:
        raise ConfigError("table: it is a stream; join_streams joins two of them")
    _check_how(how, ("inner", "left"))
    _check(rows, table, by, by)
    joined = rows.alias("l").join(table.alias("r"), _same(by), _HOW[how])
    return joined.select(*(F.col(f"l.{name}") for name in by), *_others(rows, table, by))


_HOW = {"inner": "inner", "left": "left_outer", "right": "right_outer", "full": "full_outer"}


def _same(by: Sequence[str]) -> Column:
    return reduce(and_, (F.col(f"l.{name}") == F.col(f"r.{name}") for name in by))


def _others(left: DataFrame, right: DataFrame, by: Sequence[str]) -> list[Column]:
    kept = [F.col(f"l.{name}") for name in left.columns if name not in by]
    for name in right.columns:
        if name not in by:
            theirs = F.col(f"r.{name}")
            kept.append(theirs.alias(f"{name}_right") if name in left.columns else theirs)
    return kept


def _check_how(how: str, known: tuple[str, ...]) -> None:
    if how not in known:
        raise ConfigError(f"how: invalid value '{how}': expected {' or '.join(known)}")


def _check(left: DataFrame, right: DataFrame, by: Sequence[str], needed: Sequence[str]) -> None:
    if not by:
        raise ConfigError("by: there are no columns")
    for side, table in (("left", left), ("right", right)):
        for name in needed:
            if name not in table.columns:
                has = ", ".join(table.columns)
                raise ConfigError(f"by: the {side} side has no column '{name}', only {has}")
