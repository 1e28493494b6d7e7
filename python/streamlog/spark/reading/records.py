"""Reading a range of offsets as Arrow batches, in a task."""

import gc
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from streamlog._core.bounded import Range
from streamlog.errors import (
    BrokerError,
    ConnectError,
    OffsetOutOfRange,
    RequestTimeout,
    TopicNotFound,
)
from streamlog.spark.clients import client_of
from streamlog.spark.patience import Patience
from streamlog.spark.reading.columns import ARROW_NAMES
from streamlog.spark.reading.loss import Losses
from streamlog.spark.reading.ranges import OffsetRange
from streamlog.spark.reading.settings import Reading

if TYPE_CHECKING:
    from pyarrow import RecordBatch as _RecordBatch

__all__ = ["Task"]

_LOOK_SECONDS = 5.0
"""After so long without a record it is looked whether any can come; one may be large, though."""


class Task:
    """Reads a range to its end, past brokers that go away for a while.

    Every record of the range is given out once, or there is an error, or, if losses are not fatal,
    a warning that counts what is not there.
    """

    def __init__(self, reading: Reading, part: OffsetRange) -> None:
        """Nothing is read yet."""
        self._reading = reading
        self._part = part
        self._place = (part.topic, part.partition)
        self._position = part.start
        self._losses = Losses(reading.fails_on_loss)
        self._patience = Patience(reading.connection)

    def batches(self) -> Iterator["_RecordBatch"]:
        """The records, with the columns that are wanted.

        Raises:
            OffsetOutOfRange: Some are not there any more, and that is fatal.
            TopicNotFound: The topic is not there any more, or is another, and that is fatal.
            StreamlogError: Brokers were away for too long, or refused.
        """
        _spare_garbage_collection()
        self._patience.renew()
        while True:
            try:
                # Asked after the last record too: it may have come from a topic made meanwhile.
                if self._is_another():
                    break
                if not self._has_more():
                    return
                yield from self._stretch()
            except OffsetOutOfRange as error:
                self._pass_over(error.requested, error.earliest, error.latest)
            except TopicNotFound:
                if self._is_read():
                    return
                break
            except (BrokerError, ConnectError, RequestTimeout) as error:
                self._patience.wait(error, self._unread())
        wanted = self._part.start if self._is_read() else self._position
        self._losses.gone(self._place, wanted)

    def _stretch(self) -> Iterator["_RecordBatch"]:
        part, columns = self._part, self._reading.columns
        client = client_of(self._reading.connection)
        span = [(part.partition, self._position, part.stop)]
        look = self._patience.look(_LOOK_SECONDS)
        batches = Range(client, part.topic, span, "error").arrow(
            columns=[ARROW_NAMES[name] for name in columns], timeout=look
        )
        for batch in batches:
            self._patience.renew()
            self._position = batches.positions()[self._place] or self._position
            yield batch.rename_columns(list(columns))
            # Whoever takes rows may take longer for them than brokers may be away.
            self._patience.renew()
        # Past what compaction has left out there may be no batch that tells.
        self._position = batches.positions()[self._place] or self._position
        if self._position < part.stop:
            words = f"reading ended by itself at offset {self._position}"
            raise RequestTimeout(f"{words}, and is to end at {part.stop}")

    def _is_another(self) -> bool:
        """Whether the topic is not the one that is meant."""
        part = self._part
        admin = client_of(self._reading.connection).admin
        return part.topic_id is not None and admin.topic(part.topic).id != part.topic_id

    def _is_read(self) -> bool:
        return self._position >= self._part.stop

    def _has_more(self) -> bool:
        """Whether there is more to be read, of what the log has."""
        if self._is_read():
            return False
        part = self._part
        admin = client_of(self._reading.connection).admin
        end = admin.end_offsets(part.topic).get(part.partition)
        if end is None:
            raise TopicNotFound(part.topic)
        if end < part.stop:
            begin = admin.begin_offsets(part.topic)[part.partition] or 0
            self._losses.outside(self._place, part.stop - 1, (begin, end))
            self._part = replace(part, stop=end)
        return not self._is_read()

    def _pass_over(self, wanted: int, earliest: int, latest: int) -> None:
        self._losses.outside(self._place, wanted, (earliest, latest))
        self._position = max(earliest, self._position + 1)

    def _unread(self) -> str:
        topic, partition = self._place
        return (
            f"offset {self._position} of topic '{topic}', partition {partition}, could not be read"
        )


@cache
def _spare_garbage_collection() -> None:
    """Leaves what a worker has loaded by its first task out of all collections of garbage.

    PySpark collects after each task, which walks through 77,000 objects of its modules, pandas and
    pyarrow: 20 to 40 ms of processor time, where a small task reads for 4.
    """
    gc.freeze()
