"""Estimates of record sizes in a range before it is read.

The protocol does not tell the number of bytes between two offsets. A few records are sampled at
some positions of the range: a good estimate if neighbouring records are similar.
"""

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

from streamlog._core.bounded import open_range
from streamlog.errors import TopicNotFound
from streamlog.spark.clients import client_of
from streamlog.spark.options import Connection
from streamlog.spark.patience import Patience, patiently
from streamlog.spark.reading.ranges import OffsetRange

if TYPE_CHECKING:
    from pyarrow import RecordBatch

__all__ = ["bytes_per_offset", "sampled_bytes"]

_SAMPLE_ROWS = 256
_SAMPLE_BYTES = 64 << 10
_LOOK_SECONDS = 10.0


def bytes_per_offset(connection: Connection, part: OffsetRange, points: int = 1) -> float:
    """Returns the mean bytes of key, value and headers per offset, sampled at `points` positions.

    The result is at least 1. It is 1 if the log has no record of the range: the reader will report
    the loss.

    Raises:
        StreamlogError: Brokers could not be reached for too long, or refused a request.
    """
    return max(1.0, sampled_bytes(connection, part, points) or 1.0)


def sampled_bytes(connection: Connection, part: OffsetRange, points: int) -> float | None:
    """Returns the sampled mean of bytes per offset; None if the samples have no record.

    Raises:
        StreamlogError: Brokers could not be reached for too long, or refused a request.
    """
    try:
        stop = min(part.stop, _end_of(connection, part))
        step = max(1, ceil((stop - part.start) / points))
        spans = [
            (at, min(stop, at + step, at + _SAMPLE_ROWS)) for at in range(part.start, stop, step)
        ]
        found = [_looked_at(connection, part, *span) for span in spans]
    except TopicNotFound:
        return None
    if not any(records for records, _ in found):
        return None
    return sum(size for _, size in found) / sum(end - at for at, end in spans)


def _end_of(connection: Connection, part: OffsetRange) -> int:
    """Returns the end of the log; the end of a repeated trigger may be beyond it."""
    log = client_of(connection).topic(part.topic).partition(part.partition)
    return patiently(connection, log.end_offset)


def _looked_at(connection: Connection, part: OffsetRange, at: int, stop: int) -> tuple[int, int]:
    """Returns the number of records between two offsets, and their bytes."""
    # Limit a fetch response to the sample, instead of a megabyte.
    small = replace(
        connection,
        settings=(*connection.settings, ("max.partition.fetch.bytes", str(_SAMPLE_BYTES))),
    )
    patience = Patience(connection)

    def sizes() -> list[tuple[int, int]]:
        batches = open_range(client_of(small), part.topic, [(part.partition, at, stop)]).arrow(
            columns=["key", "value", "headers"],
            max_rows=_SAMPLE_ROWS,
            timeout=patience.look(_LOOK_SECONDS),
        )
        return [(batch.num_rows, _payload(batch)) for batch in batches]

    found = patience.through(sizes)
    return sum(records for records, _ in found), sum(size for _, size in found)


def _payload(batch: "RecordBatch") -> int:
    """Returns the bytes of the data alone; ``nbytes`` includes the columns' offsets too."""
    headers = batch.column("headers").flatten()
    names, values = headers.field("key").cast("binary"), headers.field("value")
    columns = (batch.column("key"), batch.column("value"), names, values)
    return sum(int(column.total_values_length) for column in columns)
