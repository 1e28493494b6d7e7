"""Audits: record counts by topic and time window at several stages, compared with each other.

A producer with ``audit="NAME"`` publishes the number of records it delivered to the topic
``streamlog.audit``. Any other stage that has the records counts them again: a topic, a load, a
table. Each stage is a tier. Counts have the columns ``tier``, ``topic``, ``start`` (of the window),
``seconds`` (its width), ``records``, and ``duplicates``, the records beyond the first copy.
"""

from typing import TYPE_CHECKING

from streamlog.errors import ConfigError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = ["AUDIT_TOPIC", "compare_tiers", "count_windows", "missing_counts", "published_counts"]

AUDIT_TOPIC = "streamlog.audit"
"""The topic to which producers publish their counts."""

_COUNTS = (
    "tier string, producer string, number long, topic string, from_ms long, window_ms long, "
    "count long"
)
_KEY = ["topic", "start", "seconds"]


def count_windows(records: "DataFrame", tier: str, *, window: float = 600.0) -> "DataFrame":
    """Counts the records of a table by topic and time window.

    Args:
        records: A table with the columns ``topic`` and ``timestamp``; with ``partition`` and
            ``offset`` as well, duplicate records are detected.
        tier: The name of the table in the comparison.
        window: The width of the windows in seconds; the same as that of the producers.

    Raises:
        ConfigError: A column is missing, or the width is invalid.

    Example:
        >>> columns = "topic string, partition int, offset long, timestamp timestamp"
        >>> noon = datetime(2026, 11, 1, 12, tzinfo=timezone.utc)
        >>> rows = [("orders", 0, 0, noon), ("orders", 0, 1, noon), ("orders", 0, 1, noon)]
        >>> counts = count_windows(spark.createDataFrame(rows, columns), "lake", window=60)
        >>> counts.select("tier", "topic", "records", "duplicates").first()
        Row(tier='lake', topic='orders', records=3, duplicates=1)
    """
    from pyspark.sql import functions as f

    missing = sorted({"topic", "timestamp"} - set(records.columns))
    if missing:
        raise ConfigError(f"records: there is no column '{missing[0]}' to count by")
    width = round(window * 1000)
    if width < 1:
        raise ConfigError(f"window: invalid value {window}: expected at least 0.001 seconds")
    millis = f.unix_millis("timestamp")
    start = f.timestamp_millis(millis - f.pmod(millis, f.lit(width)))
    is_placed = {"partition", "offset"} <= set(records.columns)
    once: Column = f.countDistinct("partition", "offset") if is_placed else f.count("*")
    grouped = records.groupBy("topic", start.alias("start"))
    counted = grouped.agg(f.count("*").alias("records"), (f.count("*") - once).alias("duplicates"))
    return counted.select(
        f.lit(tier).alias("tier"),
        "topic",
        "start",
        f.lit(width / 1000).alias("seconds"),
        "records",
        "duplicates",
    )


def published_counts(
    spark: "SparkSession", *, bootstrap: str, topic: str = AUDIT_TOPIC
) -> "DataFrame":
    """Returns the published counts of producers, summed by tier, topic and window.

    Args:
        spark: A session.
        bootstrap: As for ``format("streamlog")``.
        topic: The topic of the counts.

    Example:
        >>> published_counts(spark, bootstrap=bootstrap).select("tier", "topic", "records").first()
        Row(tier='front', topic='orders', records=3)
    """
    from pyspark.sql import functions as f

    sums = _published(spark, bootstrap, topic).groupBy("tier", "topic", "from_ms", "window_ms")
    return sums.agg(f.sum("count").alias("records")).select(
        "tier",
        "topic",
        f.timestamp_millis("from_ms").alias("start"),
        (f.col("window_ms") / 1000).alias("seconds"),
        "records",
        f.lit(0).cast("long").alias("duplicates"),
    )


def missing_counts(
    spark: "SparkSession", *, bootstrap: str, topic: str = AUDIT_TOPIC
) -> "DataFrame":
    """Returns the producers of which counts are missing, for example after retention.

    The column ``missing`` has their number. The tier of such a producer counts fewer records than
    the producer delivered.

    Example:
        >>> missing_counts(spark, bootstrap=bootstrap).count()
        0
    """
    from pyspark.sql import functions as f

    published = _published(spark, bootstrap, topic).groupBy("tier", "producer")
    counted = published.agg((f.max("number") + 1 - f.count("*")).alias("missing"))
    return counted.where("missing > 0")


def compare_tiers(counts: "DataFrame", against: str) -> "DataFrame":
    """Compares the counts of all tiers with the counts of the tier `against`.

    Returns a row for each topic, window and other tier, with the numbers of ``expected``, existing
    (``records``), ``missing`` and ``duplicated`` records. The ``verdict`` is ``complete``,
    ``missing``, ``duplicated`` or ``missing and duplicated``. Records beyond the expected number
    count as duplicated, also if the producer could not count them.

    Args:
        counts: The counts of all tiers, a ``union`` of the results of the other functions.
        against: The tier with the expected counts.

    Example:
        >>> columns = "tier string, topic string, start timestamp, seconds double, records long, \
duplicates long"
        >>> noon = datetime(2026, 11, 1, 12, tzinfo=timezone.utc)
        >>> front, lake = ("front", "a", noon, 60.0, 9, 0), ("lake", "a", noon, 60.0, 8, 1)
        >>> rows = compare_tiers(spark.createDataFrame([front, lake], columns), against="front")
        >>> rows.select("tier", "expected", "missing", "duplicated", "verdict").first()
        Row(tier='lake', expected=9, missing=2, duplicated=1, verdict='missing and duplicated')
    """
    from pyspark.sql import functions as f

    # The counts are few and used four times below: the checkpoint avoids counting again.
    counts = counts.coalesce(1).localCheckpoint()
    base = counts.where(f.col("tier") == against).groupBy(*_KEY)
    expected = base.agg(f.sum("records").alias("expected"))
    others = counts.where(f.col("tier") != against).groupBy("tier", *_KEY)
    found = others.agg(f.sum("records").alias("records"), f.sum("duplicates").alias("duplicates"))
    places = counts.select(*_KEY).distinct().crossJoin(found.select("tier").distinct())
    whole = places.join(expected, _KEY, "left").join(found, [*_KEY, "tier"], "left")
    whole = whole.na.fill(0, ["expected", "records", "duplicates"])
    once = f.col("records") - f.col("duplicates")
    missing = f.greatest(f.col("expected") - once, f.lit(0))
    duplicated = f.col("duplicates") + f.greatest(once - f.col("expected"), f.lit(0))
    verdict = (
        f.when((missing > 0) & (duplicated > 0), "missing and duplicated")
        .when(missing > 0, "missing")
        .when(duplicated > 0, "duplicated")
        .otherwise("complete")
    )
    return whole.select(
        *_KEY,
        "tier",
        "expected",
        "records",
        missing.cast("long").alias("missing"),
        duplicated.cast("long").alias("duplicated"),
        verdict.alias("verdict"),
    ).orderBy(*_KEY, "tier")


def _published(spark: "SparkSession", bootstrap: str, topic: str) -> "DataFrame":
    from pyspark.sql import functions as f

    rows = (
        spark.read.format("streamlog")
        .option("bootstrap", bootstrap)
        .option("subscribe", topic)
        .load()
    )
    parsed = rows.select(f.from_json(f.col("value").cast("string"), _COUNTS).alias("counts"))
    return parsed.select("counts.*").dropDuplicates(["producer", "number"])
