"""Orders from a topic: stored in a table, summed up in a view, and large ones sent to a topic."""

import os

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

BOOTSTRAP = os.environ.get("STREAMLOG_BOOTSTRAP", "127.0.0.1:9092")
LARGE = 100

spark = SparkSession.active()


@dp.table
def orders() -> DataFrame:
    """Every order, once."""
    topic = spark.readStream.format("streamlog").options(
        bootstrap=BOOTSTRAP, subscribe="orders", startingOffsets="earliest"
    )
    text = f.col("value").cast("string")
    return topic.load().select(
        f.col("key").cast("string").alias("customer"),
        f.from_json(text, "amount long").getField("amount").alias("amount"),
    )


@dp.materialized_view
def totals() -> DataFrame:
    """The sum of each customer's orders."""
    return spark.read.table("orders").groupBy("customer").agg(f.sum("amount").alias("amount"))


dp.create_sink(
    "large_orders",
    "streamlog",
    {"bootstrap": BOOTSTRAP, "topic": "large-orders", "exactlyOnce": "true"},
)


@dp.append_flow(target="large_orders")
def large() -> DataFrame:
    """Orders that need a check by a person."""
    rows = spark.readStream.table("orders").where(f.col("amount") >= LARGE)
    return rows.select(f.col("customer").alias("key"), f.to_json(f.struct("amount")).alias("value"))
