"""The upper bound for a Python source: a source that returns one prepared batch repeatedly."""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pyarrow
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

__all__ = ["Ceiling"]


class Ceiling(DataSource):
    """``format("ceiling")``: `batch` is a file with a batch, `rows` the total number of rows."""

    @classmethod
    def name(cls) -> str:
        """Returns the name for ``format``."""
        return "ceiling"

    def reader(self, schema: StructType) -> DataSourceReader:
        """Returns a reader for the columns of the schema."""
        return Again(dict(self.options), schema.fieldNames())


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


@cache
def _loaded(path: str) -> pyarrow.RecordBatch:
    with pyarrow.ipc.open_file(pyarrow.OSFile(path)) as file:
        return file.get_batch(0)


def keep(batch: pyarrow.RecordBatch, path: Path) -> None:
    """Writes the batch to a file."""
    with pyarrow.ipc.new_file(str(path), batch.schema) as file:
        file.write(batch)
