"""What a task of a load is told, and what it answers."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from streamlog.spark.offline.plan import Loss, Plan
from streamlog.spark.options import Connection

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Executor", "Job", "Outcome", "on_spark"]


@dataclass(frozen=True, slots=True)
class Job:
    """A plan with all that it takes to carry out its ranges, elsewhere."""

    connection: Connection
    path: str
    plan: Plan
    compression: str
    fail_on_data_loss: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a range."""

    index: int
    records: int = 0
    files: int = 0
    size: int = 0
    """Bytes of its files."""
    losses: tuple[Loss, ...] = ()
    is_done: bool = True
    """False when records were lost and that is an error: nothing of the range was done."""

    def to_json(self) -> str:
        """The text that is kept, and sent."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """What such a text says."""
        told: dict[str, Any] = json.loads(text)
        losses = tuple(Loss(**loss) for loss in told.pop("losses"))
        return cls(losses=losses, **told)


Executor: TypeAlias = Callable[[Job, Sequence[int]], Iterable[Outcome]]
"""Carries out these ranges of a job, side by side."""


def on_spark(spark: "SparkSession") -> Executor:
    """Carries out ranges as tasks of Spark, one for each; records do not pass through the JVM."""

    def carry_out(job: Job, indexes: Sequence[int]) -> Iterable[Outcome]:
        from pyspark.sql.functions import udf

        def carry_out_one(row: int) -> str:
            from streamlog.spark.offline.writing import write_range

            return write_range(job, indexes[row]).to_json()

        # A plain function of a row, since what takes Arrow batches asks for pandas.
        task = udf(carry_out_one, "string", useArrow=False).asNondeterministic()
        rows = spark.range(0, len(indexes), 1, len(indexes)).select(task("id"))
        return [Outcome.from_json(outcome) for (outcome,) in rows.collect()]

    return carry_out
