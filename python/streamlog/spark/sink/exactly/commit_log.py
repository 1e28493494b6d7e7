"""The commit log of a query: a topic with one partition, in which a batch's first record counts.

Every record names its predecessor. Of two records with the same predecessor the first in the log
counts, and every driver ignores the other, including its writer. So the log decides between drivers
that do not know of each other. Records before the last one that counts are deleted.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

import streamlog
from streamlog.errors import FencedError, TopicNotFound
from streamlog.spark.sink.exactly.record import BatchRecord

__all__ = ["CommitLog", "commit_topic", "queries_of_commits"]

_PREFIX = "__streamlog_commits."
_RECORD_BYTES = 32 << 20
_SETTINGS = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "max.message.bytes": str(_RECORD_BYTES),
    "segment.bytes": str(2 * _RECORD_BYTES),
    "message.timestamp.type": "CreateTime",
}
_CACHING = "write.caching"
"""A setting of streamlog's brokers only; false, so that a power cut cannot undo a decision."""


def commit_topic(query: str) -> str:
    """Returns the name of the commit log's topic.

    Example:
        >>> commit_topic("4c1f")
        '__streamlog_commits.4c1f'
    """
    return f"{_PREFIX}{query}"


def queries_of_commits(topics: Iterable[str]) -> list[str]:
    """Returns the queries whose commit logs are among the topics.

    Example:
        >>> queries_of_commits(["orders", "__streamlog_commits.4c1f"])
        ['4c1f']
    """
    return [topic.removeprefix(_PREFIX) for topic in topics if topic.startswith(_PREFIX)]


class CommitLog:
    """The commit log of one query."""

    def __init__(self, client: streamlog.Client, query: str) -> None:
        """Opens the log; the first record of a query creates it."""
        self._client = client
        self.topic = commit_topic(query)

    def last(self) -> tuple[int, BatchRecord] | None:
        """Returns the last record that counts, and its offset."""
        try:
            counting = list(self._counting())
        except TopicNotFound:
            return None
        return counting[-1] if counting else None

    def append(self, record: BatchRecord) -> int:
        """Appends a record, and returns its offset if it counts.

        Raises:
            FencedError: Another driver has appended first: the record does not count.
        """
        if record.previous is None:
            # Only the first record of a query may have no topic yet.
            self._prepare()
        largest = _RECORD_BYTES
        with self._client.producer(max_request_size=largest, compression="zstd") as producer:
            placed = producer.send(self.topic, record.encoded(), partition=0).result()
        for offset, counting in self._counting():
            if counting.writer == record.writer:
                return offset
        raise FencedError(
            f"another driver of this query has committed batch {record.batch} (record "
            f"{placed.offset} of '{self.topic}' follows one that was followed already): one "
            "checkpoint serves one running query"
        )

    def _prepare(self) -> None:
        admin = self._client.admin
        admin.create_topic(self.topic, partitions=1, config=_SETTINGS, exist_ok=True)
        caching = admin.settings(topic=self.topic).get(_CACHING)
        if caching is not None and caching.value != "false":
            admin.set_settings({_CACHING: "false"}, topic=self.topic)

    def finish(self, offset: int) -> None:
        """Marks the batch of this record as published, by deleting the records before it."""
        if self._begin() < offset:
            self._client.admin.delete_records(self.topic, 0, before=offset)

    def is_finished(self, offset: int) -> bool:
        """Returns true if ``finish`` was called for this record; always false for the first."""
        return 0 < offset == self._begin()

    def time_of(self, offset: int) -> datetime | None:
        """Returns the time at which a record was written."""
        for message in self._client.topic(self.topic).partition(0).read(start=offset):
            return message.timestamp
        return None

    def _begin(self) -> int:
        return self._client.topic(self.topic).partition(0).begin_offset()

    def _counting(self) -> Iterator[tuple[int, BatchRecord]]:
        last: int | None = None
        for message in self._client.topic(self.topic).partition(0).read():
            record = BatchRecord.decoded(message.value or b"")
            # The first remaining record counts, since only records before one that counts are
            # deleted.
            if last is None or record.previous == last:
                last = message.offset
                yield message.offset, record
