"""How many bytes a record has, of a range that is about to be read.

The protocol does not tell how many bytes lie between two offsets. A few records are read at some
points of the range, so that the answer is an estimate: good where neighbours are alike.
"""

from dataclasses import replace

from streamlog._core.bounded import Range
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
    """Bytes of key, value and headers for each offset of a range, by looking at so many points.

    At least 1, and 1 where the log has nothing of the range: whoever reads it tells of the loss.

    Raises:
        StreamlogError: Brokers were away for too long, or refused.
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
    """Where the log ends; a trigger that is done again may have been planned of a longer one."""
    log = client_of(connection).topic(part.topic).partition(part.partition)
    return patiently(connection, log.end_offset)


def _looked_at(connection: Connection, part: OffsetRange, at: int, end: int) -> float:
    # One answer has to hold a sample, not a megabyte.
    small = replace(
        connection,
        settings=(*connection.settings, ("max.partition.fetch.bytes", str(_SAMPLE_BYTES))),
    )
    stop = min(end, at + _SAMPLE_ROWS)
    patience = Patience(connection)

    def size() -> int:
        batches = Range(client_of(small), part.topic, [(part.partition, at, stop)]).arrow(
            columns=["key", "value", "headers"],
            max_rows=_SAMPLE_ROWS,
            timeout=patience.look(_LOOK_SECONDS),
        )
        return sum(int(batch.nbytes) for batch in batches)

    return patience.through(size) / (stop - at)
