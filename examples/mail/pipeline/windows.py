"""The steps of the pipeline, each a function from DataFrame to DataFrame."""

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from mail import quotes

INSTRUMENTS = (
    "isin string, ticker string, name string, asset_class string, currency string, "
    "country string, tick decimal(20,8)"
)


def readings(spark: SparkSession, topic: str, address: str) -> DataFrame:
    """Returns all records of the topic of prices, decoded: a row for each reading of a mail."""
    source = spark.read.format("streamlog").option("subscribe", topic)
    table = source.option("bootstrap", address).load()
    parsed = f.from_json(f.col("value").cast("string"), quotes.SCHEMA)
    return table.select(parsed.alias("reading"), "offset").select("reading.*", "offset")


def latest(table: DataFrame) -> DataFrame:
    """Returns the reading of the last run for each mail."""
    newest = Window.partitionBy("mail").orderBy(f.desc("run"), f.desc("offset"))
    numbered = table.withColumn("age", f.row_number().over(newest))
    return numbered.where("age = 1").drop("age", "offset")


def prices(table: DataFrame) -> DataFrame:
    """Returns a row for each price."""
    exploded = table.select("mail", "sender", "at", f.explode("prices").alias("quote"))
    return exploded.select("mail", "sender", "at", "quote.*")


def by_window(table: DataFrame, length: str) -> DataFrame:
    """Returns the quotes of an instrument by currency and window of this length."""
    grouped = table.groupBy(f.window("at", length), "instrument", "currency").agg(
        f.avg("price").alias("mean"),
        f.min("price").alias("low"),
        f.max("price").alias("high"),
        f.max_by("price", "at").alias("last"),
        _mean_of("bid"),
        _mean_of("ask"),
        f.count("*").alias("quotes"),
        f.count_distinct("mail").alias("mails"),
        f.count_distinct("sender").alias("senders"),
    )
    return grouped.select(
        f.col("window.start").alias("start"), f.col("window.end").alias("end"), "*"
    ).drop("window")


def _mean_of(side: str) -> Column:
    return f.avg(f.when(f.col("side") == side, f.col("price"))).alias(side)


def named(table: DataFrame, instruments: DataFrame) -> DataFrame:
    """Adds the columns of the reference table; unknown instruments stay."""
    known = instruments.select(
        f.col("isin").alias("instrument"), "ticker", "name", "asset_class", "country"
    )
    return table.join(f.broadcast(known), "instrument", "left")


def written(table: DataFrame, path: str) -> None:
    """Writes Parquet files, with a folder for each day."""
    dated = table.withColumn("date", f.to_date("start"))
    dated.repartition("date").write.mode("overwrite").partitionBy("date").parquet(path)
