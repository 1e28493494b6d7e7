"""Internal topics of queries with ``exactlyOnce``, found and removed by query.

Whether a query will run again is unknown, so the user says which queries are abandoned.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import streamlog
from streamlog.errors import ConfigError, TopicNotFound
from streamlog.spark.sink.exactly.commit_log import CommitLog, queries_of_commits
from streamlog.spark.sink.exactly.record import BatchRecord
from streamlog.spark.sink.exactly.staging import staged_by

__all__ = ["Leftovers", "find", "remove"]

_RECENT = timedelta(minutes=10)
"""The time after a commit in which the query may still be running."""


@dataclass(frozen=True)
class Leftovers:
    """The internal topics of a query."""

    query: str
    """Spark's id of the query, in the file ``metadata`` of its checkpoint."""
    staged: tuple[str, ...]
    """Its staging topics."""
    staged_records: int
    """The number of records in the staging topics."""
    last: BatchRecord | None
    """The last committed batch, if there is one."""
    is_published: bool
    """True if the whole batch is known to be published: by the commit log, or because no staged
    record is left. True also without a batch."""
    committed: datetime | None
    """The time of the last commit."""

    @property
    def targets(self) -> list[str]:
        """The topics that the query wrote to."""
        plans = () if self.last is None else self.last.partitions
        return sorted({plan.target for plan in plans})


def find(client: streamlog.Client) -> list[Leftovers]:
    """Returns all queries with internal topics, sorted by id."""
    topics = client.admin.topics()
    staged: dict[str, list[str]] = {}
    for topic in topics:
        query = staged_by(topic)
        if query is not None:
            staged.setdefault(query, []).append(topic)
    queries = sorted(staged.keys() | set(queries_of_commits(topics)))
    return [_leftovers(client, query, tuple(sorted(staged.get(query, ())))) for query in queries]


def remove(client: streamlog.Client, query: str, *, is_forced: bool = False) -> Leftovers:
    """Deletes the topics of an abandoned query.

    The commit log is deleted last, so that an interrupted removal can be repeated.

    Args:
        client: A client of the brokers.
        query: The query's id.
        is_forced: True to remove them also if the last batch is unfinished, or was just committed.

    Raises:
        TopicNotFound: The query has no topics.
        ConfigError: The query may be running, or has a batch to finish.
    """
    found = next((each for each in find(client) if each.query == query), None)
    if found is None:
        raise TopicNotFound(f"query '{query}' has no topics here")
    for reason in () if is_forced else _reasons_to_keep(found):
        raise ConfigError(f"query '{query}': {reason}")
    for topic in (*found.staged, CommitLog(client, query).topic):
        try:
            client.admin.delete_topic(topic)
        except TopicNotFound:
            continue
    return found


def _leftovers(client: streamlog.Client, query: str, staged: tuple[str, ...]) -> Leftovers:
    log = CommitLog(client, query)
    last = log.last()
    records = sum(_records(client, topic) for topic in staged)
    return Leftovers(
        query=query,
        staged=staged,
        staged_records=records,
        last=None if last is None else last[1],
        is_published=last is None or records == 0 or log.is_finished(last[0]),
        committed=None if last is None else log.time_of(last[0]),
    )


def _records(client: streamlog.Client, topic: str) -> int:
    begins, ends = client.admin.begin_offsets(topic), client.admin.end_offsets(topic)
    return sum((ends[part] or 0) - (begins.get(part) or 0) for part in ends)


def _reasons_to_keep(found: Leftovers) -> Iterator[str]:
    if found.last is not None and not found.is_published:
        yield (
            f"batch {found.last.batch} is committed, and perhaps not all of it is published: start "
            "the query once more to finish it, or force the removal"
        )
    if found.committed is not None and datetime.now(UTC) - found.committed < _RECENT:
        yield (
            "its last commit is less than 10 minutes old: stop the query and wait, or force the "
            "removal if it is stopped"
        )
