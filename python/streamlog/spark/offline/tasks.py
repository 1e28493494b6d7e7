"""Parallel execution of ranges, each as a task of Spark."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from streamlog.spark.offline.job import Job, Outcome
from streamlog.spark.offline.writing import write_range

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Executor", "on_spark"]

Executor: TypeAlias = Callable[[Job, Sequence[int]], Iterable[Outcome]]
"""Executes these ranges of a job in parallel."""


def on_spark(spark: "SparkSession") -> Executor:
    """Executes ranges as tasks of Spark; records do not pass through the JVM."""

    def carry_out(job: Job, indexes: Sequence[int]) -> Iterable[Outcome]:
        from pyspark.sql.functions import udf

        def carry_out_one(row: int) -> str:
            return write_range(job, indexes[row]).to_json()

        # A plain function of a row, because functions of Arrow batches need pandas.
        task = udf(carry_out_one, "string", useArrow=False).asNondeterministic()
        rows = spark.range(0, len(indexes), 1, len(indexes)).select(task("id"))
        return [Outcome.from_json(outcome) for (outcome,) in rows.collect()]

    return carry_out
