"""Reading a range of a plan, whole or with what is lost of it named."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import streamlog
from streamlog._core.bounded import Range
from streamlog.errors import (
    BrokerError,
    ConnectError,
    OffsetOutOfRange,
    RequestTimeout,
    StreamlogError,
    TopicNotFound,
)
from streamlog.spark.clients import client_of
from streamlog.spark.offline.job import Job
from streamlog.spark.offline.plan import Loss
from streamlog.spark.patience import Patience

if TYPE_CHECKING:
    import pyarrow

__all__ = ["COLUMNS", "Gone", "Reading"]

COLUMNS = {
    "partition": "partition",
    "offset": "offset",
    "timestamp": "timestamp",
    "timestamp_type": "timestampType",
    "key": "key",
    "value": "value",
    "headers": "headers",
}
"""The client's columns, and how those of the files are called; the topic is in the path."""

_LOOK_SECONDS = 30.0
"""After so long without a record it is looked whether any can come; one may be large, though."""


class Gone(StreamlogError):
    """Records of a range were deleted, and that is an error."""

    def __init__(self, loss: Loss) -> None:
        """Keeps which."""
        super().__init__(str(loss))
        self.loss = loss


class Reading:
    """The records of a range, as columns, past brokers that go away; it can be read again."""

    def __init__(self, job: Job, index: int) -> None:
        """Asks no broker yet."""
        self._job = job
        self._part = job.plan.ranges[index]
        self._place = (self._part.topic, self._part.partition)
        self._position = self._part.start
        self._patience = Patience(job.connection)
        self.losses: list[Loss] = []

    def batches(self) -> "Iterator[pyarrow.RecordBatch]":
        """All of them, from the first.

        Raises:
            Gone: Some are not there any more, and that is an error.
            StreamlogError: Brokers were away for too long, or refused.
        """
        self._position = self._part.start
        self._patience.renew()
        while self._position < self._part.stop:
            try:
                yield from self._stretch()
            except OffsetOutOfRange as error:
                self._lose(self._position, error.earliest, "what lay before was deleted")
                self._position = max(self._position, error.earliest)
            except TopicNotFound:
                self._lose(self._position, -1, "the topic was deleted")
                return
            except (BrokerError, ConnectError, RequestTimeout) as error:
                topic, partition = self._place
                words = f"topic '{topic}' partition {partition}, offset {self._position}"
                self._patience.wait(error, f"{words}, could not be loaded")

    def check(self) -> None:
        """Makes sure that it was the topic of the plan that was read, and none made anew.

        Raises:
            Gone: It was another one, or there is none any more.
        """
        self._patience.renew()
        self._patience.through(self._check)

    def _check(self) -> None:
        topic, start = self._part.topic, self._part.start
        try:
            is_same = self._client.admin.topic(topic).id == self._job.plan.places[topic].id
        except TopicNotFound:
            # What was read of it before is what the plan means.
            return
        if not is_same:
            reason = "the topic was deleted and made anew"
            raise Gone(Loss(topic, self._part.partition, start, self._log.begin_offset(), reason))

    def _stretch(self) -> "Iterator[pyarrow.RecordBatch]":
        """What can be read at a stretch, and to its end what there is of the range."""
        end = min(self._log.end_offset(), self._part.stop)
        if self._position < end:
            span = [(self._part.partition, self._position, end)]
            batches = Range(self._client, self._part.topic, span, "error").arrow(
                columns=list(COLUMNS), max_wait=1.0, timeout=self._patience.look(_LOOK_SECONDS)
            )
            for batch in batches:
                self._patience.renew()
                self._position = batches.positions()[self._place] or self._position
                yield batch.rename_columns(list(COLUMNS.values()))
                # Writing files may take longer than brokers may be away.
                self._patience.renew()
            # Past what compaction has left out there may be no batch that tells.
            self._position = batches.positions()[self._place] or self._position
        if self._position < end:
            words = f"reading ended by itself at offset {self._position}"
            raise RequestTimeout(f"{words}, and is to end at {end}")
        if end < self._part.stop:
            self._lose(self._position, self._log.begin_offset(), "the log was cut back")
            self._position = self._part.stop

    @property
    def _client(self) -> streamlog.Client:
        return client_of(self._job.connection)

    @property
    def _log(self) -> streamlog.Partition:
        return self._client.topic(self._part.topic).partition(self._part.partition)

    def _lose(self, wanted: int, earliest: int, reason: str) -> None:
        loss = Loss(self._part.topic, self._part.partition, wanted, earliest, reason)
        if self._job.fail_on_data_loss:
            raise Gone(loss)
        if loss not in self.losses:
            self.losses.append(loss)
