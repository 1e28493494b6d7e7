"""The fastest that a Python source can be: one that gives out a prepared batch over and over."""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pyarrow
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

__all__ = ["Ceiling"]


class Ceiling(DataSource):
    """``format("ceiling")``: option `batch` is a file with a batch, `rows` how many rows in all."""

    @classmethod
    def name(cls) -> str:
        """The word for ``format``."""
        return "ceiling"

    def reader(self, schema: StructType) -> DataSourceReader:
        """Gives out the columns of the schema."""
        return Again(dict(self.options), schema.fieldNames())


class Again(DataSourceReader):
    """Reads the batch once, and gives it out until the rows are reached."""

    def __init__(self, options: dict[str, str], columns: list[str]) -> None:
        """Keeps what the tasks need."""
        self._path, self._columns = options["batch"], columns
        self._rows, self._tasks = int(options["rows"]), int(options["tasks"])

    def partitions(self) -> Sequence[InputPartition]:
        """One for each task."""
        return [InputPartition(number) for number in range(self._tasks)]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        """The batch, again and again."""
        batch = _loaded(self._path).select(self._columns)
        left = self._rows // self._tasks
        while left > 0:
            yield batch.slice(0, left) if left < batch.num_rows else batch
            left -= batch.num_rows


@cache
def _loaded(path: str) -> pyarrow.RecordBatch:
    with pyarrow.ipc.open_file(pyarrow.OSFile(path)) as file:
        return file.get_batch(0)


def keep(batch: pyarrow.RecordBatch, path: Path) -> None:
    """Writes the batch to a file."""
    with pyarrow.ipc.new_file(str(path), batch.schema) as file:
        file.write(batch)
