"""Reading a range of a plan, whole or with what is lost of it named."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from streamlog.errors import OffsetOutOfRange, StreamlogError, TopicNotFound
from streamlog.spark.clients import client_of
from streamlog.spark.offline.job import Job
from streamlog.spark.offline.plan import Loss

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


class Gone(StreamlogError):
    """Records of a range were deleted, and that is an error."""

    def __init__(self, loss: Loss) -> None:
        """Keeps which."""
        super().__init__(str(loss))
        self.loss = loss


class Reading:
    """The records of a range, as columns; it can be read again."""

    def __init__(self, job: Job, index: int) -> None:
        """Asks no broker yet."""
        self._job = job
        self._part = job.plan.ranges[index]
        self._client = client_of(job.connection)
        self._log = self._client.topic(self._part.topic).partition(self._part.partition)
        self.losses: list[Loss] = []

    def batches(self) -> "Iterator[pyarrow.RecordBatch]":
        """All of them, from the first.

        Raises:
            Gone: Some are not there any more, and that is an error.
        """
        position = self._part.start
        while position < self._part.stop:
            try:
                batches = self._log.arrow(
                    position,
                    self._part.stop,
                    on_out_of_range="error",
                    columns=list(COLUMNS),
                    max_wait=1.0,
                )
            except TopicNotFound:
                self._lose(position, -1, "the topic was deleted")
                return
            try:
                for batch in batches:
                    yield batch.rename_columns(list(COLUMNS.values()))
            except OffsetOutOfRange as error:
                position = self._reached(batches.positions(), position)
                self._lose(position, error.earliest, "what lay before was deleted")
                position = max(position, error.earliest)
                continue
            position = self._reached(batches.positions(), position)
            if position < self._part.stop:
                self._lose(position, self._log.begin_offset(), "the log was cut back")
            return

    def check(self) -> None:
        """Makes sure that it was the topic of the plan that was read, and none made anew.

        Raises:
            Gone: It was another one, or there is none any more.
        """
        topic, start = self._part.topic, self._part.start
        try:
            is_same = self._client.admin.topic(topic).id == self._job.plan.places[topic].id
        except TopicNotFound:
            # What was read of it before is what the plan means.
            return
        if not is_same:
            reason = "the topic was deleted and made anew"
            raise Gone(Loss(topic, self._part.partition, start, self._log.begin_offset(), reason))

    def _reached(self, positions: dict[tuple[str, int], int | None], before: int) -> int:
        reached = positions.get((self._part.topic, self._part.partition))
        return before if reached is None else reached

    def _lose(self, wanted: int, earliest: int, reason: str) -> None:
        loss = Loss(self._part.topic, self._part.partition, wanted, earliest, reason)
        if self._job.fail_on_data_loss:
            raise Gone(loss)
        if loss not in self.losses:
            self.losses.append(loss)
