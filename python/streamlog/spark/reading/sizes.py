"""Estimates of record sizes in a range before it is read.

The protocol does not tell the number of bytes between two offsets. A few records are sampled at
some positions of the range: a good estimate if neighbouring records are similar.
"""

from dataclasses import replace

from streamlog._core.bounded import open_range
from streamlog.errors import TopicNotFound
from streamlog.spark.clients import client_of
from streamlog.spark.options import Connection
from streamlog.spark.patience import Patience, patiently
from streamlog.spark.reading.ranges import OffsetRange

__all__ = ["bytes_per_offset"]

_SAMPLE_ROWS = 256
_SAMPLE_BYTES = 64 << 10
_LOOK_SECONDS = 10.0


def bytes_per_offset(connection: Connection, part: OffsetRange, points: int = 1) -> float:
    """Returns the bytes of key, value and headers for each offset, sampled at `points` positions.

    At least 1, and 1 if the log has no record of the range: the reader will report the loss.

    Raises:
        StreamlogError: Brokers could not be reached for too long, or refused.
    """
    try:
        stop = min(part.stop, _end_of(connection, part))
        step = max(1, (stop - part.start) // points)
        places = range(part.start, stop, step)[:points]
        found = [_looked_at(connection, part, at, stop) for at in places]
    except TopicNotFound:
        return 1.0
    return max(1.0, sum(found) / len(found)) if found else 1.0


def _end_of(connection: Connection, part: OffsetRange) -> int:
    """Returns the end of the log; the end of a repeated trigger may be beyond it."""
    log = client_of(connection).topic(part.topic).partition(part.partition)
    return patiently(connection, log.end_offset)


def _looked_at(connection: Connection, part: OffsetRange, at: int, end: int) -> float:
    # Limit a fetch response to the sample, instead of a megabyte.
    small = replace(
        connection,
        settings=(*connection.settings, ("max.partition.fetch.bytes", str(_SAMPLE_BYTES))),
    )
    stop = min(end, at + _SAMPLE_ROWS)
    patience = Patience(connection)

    def size() -> int:
        batches = open_range(client_of(small), part.topic, [(part.partition, at, stop)]).arrow(
            columns=["key", "value", "headers"],
            max_rows=_SAMPLE_ROWS,
            timeout=patience.look(_LOOK_SECONDS),
        )
        return sum(int(batch.nbytes) for batch in batches)

    return patience.through(size) / (stop - at)
