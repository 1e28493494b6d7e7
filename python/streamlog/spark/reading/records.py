"""Reading of an offset range as Arrow batches, in a task of a query or of a load."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from streamlog._core.bounded import open_range
from streamlog.errors import (
    BrokerError,
    ConnectError,
    OffsetOutOfRange,
    RequestTimeout,
    TopicNotFound,
)
from streamlog.spark.clients import client_of
from streamlog.spark.garbage import spare_modules
from streamlog.spark.options import Connection
from streamlog.spark.patience import Patience
from streamlog.spark.reading.columns import ARROW_NAMES
from streamlog.spark.reading.loss import Losses, LossHandler
from streamlog.spark.reading.ranges import OffsetRange
from streamlog.spark.reading.settings import Reading

if TYPE_CHECKING:
    from pyarrow import RecordBatch as _RecordBatch

    from streamlog._core.admin import Admin

__all__ = ["RangeReader"]

_LOOK_SECONDS = 5.0
"""The time without a record after which the end of the log is checked again."""


class RangeReader:
    """Reads a range to its end, also if brokers cannot be reached for a while.

    Returns every record of the range once, or reports missing records to the handler of losses,
    which raises, or notes them so that the reader continues.
    """

    def __init__(
        self,
        connection: Connection,
        part: OffsetRange,
        columns: Mapping[str, str],
        losses: LossHandler,
    ) -> None:
        """Does not contact a broker yet.

        Args:
            connection: The connection to the brokers.
            part: The range.
            columns: The client's names of the columns to read, each with its name in the batches.
            losses: The handler of losses.
        """
        self._connection = connection
        self._part = part
        self._columns = columns
        self._place = (part.topic, part.partition)
        self._position = part.start
        self._losses = losses
        self._patience = Patience(connection)

    @classmethod
    def of(cls, reading: Reading, part: OffsetRange) -> Self:
        """Returns the reader for a task of a query."""
        spare_modules()
        columns = {ARROW_NAMES[name]: name for name in reading.columns}
        losses = Losses(reading.fails_on_loss, {(part.topic, part.partition): part.stop})
        return cls(reading.connection, part, columns, losses)

    def batches(self) -> Iterator["_RecordBatch"]:
        """Yields the records.

        Raises:
            StreamlogError: Brokers could not be reached for too long, or refused a request.
        """
        self._patience.renew()
        is_replaced = False
        while True:
            try:
                # Check after the last record too: its topic may have been recreated meanwhile.
                is_replaced = self._is_replaced()
                if is_replaced:
                    break
                if self._is_read():
                    return
                self._check_end()
                yield from self._stretch()
            except OffsetOutOfRange as error:
                self._pass_over(error)
            except TopicNotFound:
                if self._is_read():
                    return
                if not self._patience.outlasts(f"topic '{self._part.topic}' is absent"):
                    break
            except (BrokerError, ConnectError, RequestTimeout) as error:
                self._patience.wait(error, self._unread())
        if is_replaced:
            self._losses.replaced(self._place, self._part.start)
        else:
            self._losses.gone(self._place, self._position)

    def _stretch(self) -> Iterator["_RecordBatch"]:
        part = self._part
        span = [(part.partition, self._position, part.stop)]
        look = self._patience.look(_LOOK_SECONDS)
        batches = open_range(client_of(self._connection), part.topic, span, "error").arrow(
            columns=list(self._columns), timeout=look
        )
        for batch in batches:
            self._patience.renew()
            self._position = batches.positions()[self._place] or self._position
            yield batch.rename_columns(list(self._columns.values()))
            # The consumer of the rows may take longer than the time allowed for brokers.
            self._patience.renew()
        # After compaction there may be no batch at the end of the range: use the reader's position.
        self._position = batches.positions()[self._place] or self._position
        if self._position < part.stop:
            words = f"reading ended by itself at offset {self._position}"
            raise RequestTimeout(f"{words}, and is to end at {part.stop}")

    @property
    def _admin(self) -> "Admin":
        return client_of(self._connection).admin

    def _is_replaced(self) -> bool:
        """Returns true if the topic was recreated under the same name."""
        part = self._part
        return part.topic_id is not None and self._admin.topic(part.topic).id != part.topic_id

    def _is_read(self) -> bool:
        return self._position >= self._part.stop

    def _check_end(self) -> None:
        """Checks that the log reaches the end of the range.

        Raises:
            OffsetOutOfRange: The log ends before the end of the range.
            TopicNotFound: The topic does not exist.
        """
        topic, partition = self._place
        end = self._admin.end_offsets(topic).get(partition)
        if end is None:
            raise TopicNotFound(topic)
        if end < self._part.stop:
            begin = self._admin.begin_offsets(topic)[partition] or 0
            raise OffsetOutOfRange("the log was truncated", max(self._position, end), begin, end)

    def _pass_over(self, error: OffsetOutOfRange) -> None:
        """Continues after deleted records, or ends at the end of the log."""
        wanted, earliest, latest = error.requested, error.earliest, error.latest
        self._losses.outside(self._place, wanted, (earliest, latest))
        if wanted >= latest:
            self._part = replace(self._part, stop=latest)
        else:
            self._position = max(earliest, self._position + 1)

    def _unread(self) -> str:
        topic, partition = self._place
        return (
            f"offset {self._position} of topic '{topic}', partition {partition}, could not be read"
        )
