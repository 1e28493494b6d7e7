"""The upper bound for a Python source: a source that returns one prepared batch repeatedly.

As a stream it returns the same number of rows in each of a number of triggers.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pyarrow
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

__all__ = ["Ceiling"]


class Ceiling(DataSource):
    """``format("ceiling")``: `batch` is a file with a batch, `rows` the total number of rows.

    For a stream, `rows` is the number of rows of a trigger, and `triggers` the number of triggers.
    """

    @classmethod
    def name(cls) -> str:
        """Returns the name for ``format``."""
        return "ceiling"

    def reader(self, schema: StructType) -> DataSourceReader:
        """Returns a reader for the columns of the schema."""
        return Again(dict(self.options), schema.fieldNames())

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Returns a stream reader for the columns of the schema."""
        return AgainAndAgain(dict(self.options), schema.fieldNames())


class Again(DataSourceReader):
    """Loads the batch once, and returns it until the number of rows is reached."""

    def __init__(self, options: dict[str, str], columns: list[str]) -> None:
        """Keeps the parameters for the tasks."""
        self._path, self._columns = options["batch"], columns
        self._rows, self._tasks = int(options["rows"]), int(options["tasks"])

    def partitions(self) -> Sequence[InputPartition]:
        """Returns a partition for each task."""
        return [InputPartition(number) for number in range(self._tasks)]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        """Yields the batch repeatedly."""
        batch = _loaded(self._path).select(self._columns)
        left = self._rows // self._tasks
        while left > 0:
            yield batch.slice(0, left) if left < batch.num_rows else batch
            left -= batch.num_rows


class AgainAndAgain(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Returns the batch in each of a number of triggers."""

    def __init__(self, options: dict[str, str], columns: list[str]) -> None:
        """Keeps the parameters for the triggers."""
        self._again, self._triggers = Again(options, columns), int(options["triggers"])

    def initialOffset(self) -> dict[str, int]:
        """Returns the offset before the first trigger."""
        return {"done": 0}

    def prepareForTriggerAvailableNow(self) -> None:
        """Does nothing: the number of triggers is an option."""

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        """Returns the next offset, or the last."""
        return {"done": min(start["done"] + 1, self._triggers)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """Returns a partition for each task."""
        return self._again.partitions()

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        """Returns the batch until the number of rows is reached."""
        return self._again.read(partition)


@cache
def _loaded(path: str) -> pyarrow.RecordBatch:
    with pyarrow.ipc.open_file(pyarrow.OSFile(path)) as file:
        return file.get_batch(0)


def keep(batch: pyarrow.RecordBatch, path: Path) -> None:
    """Writes the batch to a file."""
    with pyarrow.ipc.new_file(str(path), batch.schema) as file:
        file.write(batch)
