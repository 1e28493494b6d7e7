"""The Parquet files of a range: one for each date of its records, in the folder of that date.

Memory is bounded whatever the size of the range. Rows are buffered until a row group of their file
is full, or until the rows of all files together exceed a limit. The number of open files is limited
too. With more dates, the range is read again for the remaining dates, so that every record is
written to the file of its own date.
"""

from datetime import date
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from streamlog.spark.offline import durable
from streamlog.spark.offline.job import Job
from streamlog.spark.offline.ledger import Ledger

if TYPE_CHECKING:
    import pyarrow

__all__ = ["NO_DATE", "DatedFiles"]

NO_DATE = "__HIVE_DEFAULT_PARTITION__"
"""Hive's name of null: the date of a missing timestamp, or of one outside the calendar."""

_ROW_GROUP_BYTES = 32 * 2**20
_HELD_BYTES = 64 * 2**20
_FILES_OPEN = 64
_EPOCH = date(1970, 1, 1).toordinal()
_FIRST, _LAST = date.min.toordinal() - _EPOCH, date.max.toordinal() - _EPOCH

_Day = int | None
"""Days since 1970 in UTC."""


class _File:
    """A file without its final name, so that readers do not see it."""

    def __init__(self, path: Path, schema: "pyarrow.Schema", compression: str) -> None:
        from pyarrow import parquet

        self.path = path
        self._writer = parquet.ParquetWriter(
            path,
            schema,
            compression=compression,
            use_dictionary=["partition", "timestampType"],
            column_encoding={
                "offset": "DELTA_BINARY_PACKED",
                "timestamp": "DELTA_BINARY_PACKED",
            },
        )
        self._schema = schema
        self._waiting: list[pyarrow.RecordBatch] = []
        self.held = 0
        self.records = 0

    def add(self, rows: "pyarrow.RecordBatch") -> None:
        self._waiting.append(rows)
        self.held += rows.nbytes
        self.records += rows.num_rows

    def write(self) -> int:
        """Writes the buffered rows as a row group, and returns their bytes."""
        import pyarrow

        if self._waiting:
            table = pyarrow.Table.from_batches(self._waiting).cast(self._schema)
            self._writer.write_table(table, row_group_size=max(table.num_rows, 1))
        written, self.held = self.held, 0
        self._waiting.clear()
        return written

    def close(self) -> None:
        self.write()
        self._writer.close()

    def discard(self) -> None:
        self._waiting.clear()
        self._writer.close()
        durable.remove(self.path)


class DatedFiles:
    """All files of a range, some of them open."""

    def __init__(self, ledger: Ledger, job: Job, index: int) -> None:
        """Does not create a file yet."""
        self._ledger = ledger
        self._compression = job.compression
        self._part = job.plan.ranges[index]
        self._name = job.plan.file_name(index)
        self._topic_id = job.plan.places[self._part.topic].id
        self._files: dict[_Day, _File] = {}
        self._done: set[_Day] = set()
        self._has_more = True
        self._held = 0
        self.records = self.published = self.size = 0

    def begin(self) -> bool:
        """Returns true if the range has to be read, for dates whose files are missing."""
        has_more, self._has_more = self._has_more, False
        return has_more

    def add(self, rows: "pyarrow.RecordBatch") -> None:
        """Adds rows to the files of their dates; rows of other dates wait for another pass."""
        import pyarrow.compute as pc

        days = _days(rows)
        found: list[_Day] = pc.unique(days).to_pylist()
        for day in found:
            if day in self._done:
                continue
            if day not in self._files and len(self._files) == _FILES_OPEN:
                self._has_more = True
                continue
            is_day = pc.is_null(days) if day is None else pc.equal(days, day)
            self._file(day, rows.schema).add(rows if len(found) == 1 else rows.filter(is_day))
        self._write_what_is_full()

    def publish(self) -> None:
        """Publishes the complete files."""
        for day, file in self._files.items():
            file.close()
            self.size += file.path.stat().st_size
            self.records += file.records
            self.published += 1
            durable.publish(file.path, self._folder(day) / self._name)
        self._done.update(self._files)
        self._files.clear()
        self._held = 0

    def __enter__(self) -> Self:
        """The files themselves."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Removes files that are not published."""
        for file in self._files.values():
            file.discard()

    def _file(self, day: _Day, schema: "pyarrow.Schema") -> _File:
        if day not in self._files:
            place = self._ledger.hidden / "open"
            durable.make_folder(place)
            path = place / f"{self._name}.{uuid4().hex}.open"
            self._files[day] = _File(path, self._described(schema), self._compression)
        return self._files[day]

    def _described(self, schema: "pyarrow.Schema") -> "pyarrow.Schema":
        told: dict[str, Any] = {
            "topic": self._part.topic,
            "topic_id": self._topic_id,
            "partition": self._part.partition,
            "start": self._part.start,
            "stop": self._part.stop,
        }
        return schema.with_metadata({f"streamlog.{key}": str(told[key]) for key in told})

    def _folder(self, day: _Day) -> Path:
        name = NO_DATE if day is None else date.fromordinal(_EPOCH + day).isoformat()
        return self._ledger.path / f"topic={self._part.topic}" / f"date={name}"

    def _write_what_is_full(self) -> None:
        for file in self._files.values():
            if file.held >= _ROW_GROUP_BYTES:
                file.write()
        while sum(file.held for file in self._files.values()) >= _HELD_BYTES:
            max(self._files.values(), key=lambda file: file.held).write()


def _days(rows: "pyarrow.RecordBatch") -> "pyarrow.Array":
    """Returns the day of each row's timestamp; null outside the calendar."""
    import pyarrow
    import pyarrow.compute as pc

    times = rows.column(rows.schema.get_field_index("timestamp"))
    microseconds = times.cast(pyarrow.int64())
    # Arrow's division truncates towards zero, but a time before 1970 belongs to the day before.
    floored = pc.if_else(
        pc.less(microseconds, 0), pc.subtract(microseconds, _DAY - 1), microseconds
    )
    days = pc.divide(floored, _DAY)
    has_date = pc.and_(pc.greater_equal(days, _FIRST), pc.less_equal(days, _LAST))
    return pc.if_else(has_date, days, None)


_DAY = 24 * 60 * 60 * 1_000_000
