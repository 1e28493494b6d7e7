"""The checks of a write's topics, before the first row is written."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from streamlog.errors import TopicNotFound
from streamlog.spark.clients import client_of
from streamlog.spark.options import Connection
from streamlog.spark.patience import briefly
from streamlog.spark.sink.columns import Columns
from streamlog.spark.sink.settings import Settings

__all__ = ["NamedPartitions", "check_target"]

_NEEDED = "the rows name partitions, so the topic has to be there with as many"


def check_target(settings: Settings) -> None:
    """Checks that the topic exists, if a topic created by a producer would not suffice.

    A producer makes a topic with the broker's default number of partitions. Rows that name other
    partitions would fail after other rows had been written.

    Raises:
        TopicNotFound: The topic does not exist.
    """
    if settings.is_exactly_once:
        needed = "exactlyOnce writes to topics that are there"
    elif "partition" in settings.columns:
        needed = _NEEDED
    else:
        return
    # Otherwise each row has its own topic, and only the tasks see the rows.
    if settings.topic is not None:
        _count(settings.connection, settings.topic, needed)


class NamedPartitions:
    """The partitions that rows name, checked by a task before it sends any of the rows."""

    def __init__(self, connection: Connection) -> None:
        """Does not contact a broker yet."""
        self._connection = connection
        self._counts: dict[str, int] = {}

    def check(self, topic: str | None, columns: Columns) -> None:
        """Checks that the topics of rows with a partition exist, and have it.

        Args:
            topic: The topic of all rows; None to use the topic column.
            columns: The columns of the rows.

        Raises:
            TopicNotFound: A topic does not exist, or has fewer partitions.
        """
        for name, lowest, highest in _extremes(topic, columns):
            if highest >= self._counts.get(name, 0) or name not in self._counts:
                self._counts[name] = _count(self._connection, name, _NEEDED)
            count = self._counts[name]
            if lowest < 0 or highest >= count:
                partition = lowest if lowest < 0 else highest
                place = f"no topic or partition '{name}-{partition}'"
                raise TopicNotFound(f"{place}: there are {count}, from 0 on; {_NEEDED}", name)


def _extremes(topic: str | None, columns: Columns) -> Iterator[tuple[str, int, int]]:
    """Yields each topic whose rows name partitions, with the lowest and the highest of them."""
    if "partition" not in columns:
        return
    partitions = columns["partition"]
    is_named = partitions.is_valid()
    if topic is not None:
        if pc.any(is_named).as_py():
            yield topic, pc.min(partitions).as_py(), pc.max(partitions).as_py()
        return
    rows = pa.table({"topic": columns["topic"], "partition": partitions}).filter(is_named)
    groups = rows.group_by("topic").aggregate([("partition", "min"), ("partition", "max")])
    for row in groups.to_pylist():
        yield row["topic"], row["partition_min"], row["partition_max"]


def _count(connection: Connection, topic: str, needed: str) -> int:
    """Returns the number of partitions of a topic.

    Raises:
        TopicNotFound: The topic does not exist; the message has the words in `needed`.
    """
    client = client_of(connection)
    try:
        found = briefly(connection).until_there(lambda: client.admin.topic(topic))
    except TopicNotFound as error:
        raise TopicNotFound(f"{error}; {needed}", topic) from error
    return len(found.partitions)
