"""Staging of a task's rows."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import WriterCommitMessage

from streamlog._core.republishing import delivered_batches
from streamlog.errors import ConfigError, StreamlogError
from streamlog.spark.clients import client_of
from streamlog.spark.patience import briefly
from streamlog.spark.sink.columns import Columns, send
from streamlog.spark.sink.exactly.record import Part
from streamlog.spark.sink.exactly.staging import Target, prepared
from streamlog.spark.sink.rows import columns_in, producing
from streamlog.spark.sink.settings import Settings

if TYPE_CHECKING:
    from streamlog._core.producing import Producer

__all__ = ["StagedRows", "stage"]


@dataclass(frozen=True)
class StagedRows(WriterCommitMessage):
    """The records staged by a task; the driver decides whether they count."""

    query: str
    topics: dict[str, str]
    """The staging topic of each target."""
    parts: dict[tuple[str, int], Part]
    """The records in each partition of the staging topics."""
    size: int = 0
    """The approximate size of the rows in bytes."""


def stage(settings: Settings, query: str, rows: Iterable[pa.RecordBatch]) -> StagedRows:
    """Stages the rows of a task under a producer id of its own.

    A task without rows contacts no broker, because a query may have many such tasks.

    Raises:
        DeliveryError: Records were not delivered.
        TopicNotFound: There is no such target.
        ConfigError: A row does not fit its target.
    """
    batches = (batch for batch in rows if batch.num_rows)
    first = next(batches, None)
    if first is None:
        return StagedRows(query, {}, {})
    targets = _Targets(settings, query)
    topic, size = settings.topic, 0
    with producing(settings) as producer:
        for batch in chain((first,), batches):
            size += batch.nbytes
            targets.send(producer, topic, columns_in(batch, settings))
        producer.flush()
        found = delivered_batches(producer)
    if found is None:
        raise StreamlogError("a broker could not tell where it has put staged records; try again")
    parts = {(topic, partition): Part(*part) for topic, partition, *part in found}
    return StagedRows(query, targets.topics(), parts, size)


class _Targets:
    """The target topics of a task's rows, each looked up when it first occurs."""

    def __init__(self, settings: Settings, query: str) -> None:
        self._connection = settings.connection
        self._query = query
        self._met: dict[str, Target] = {}

    def of(self, topic: str) -> Target:
        """Returns the target of this name, after creating its staging topic."""
        if topic not in self._met:
            connection = self._connection
            client = client_of(connection)
            patience = briefly(connection)
            self._met[topic] = patience.until_there(lambda: prepared(client, self._query, topic))
        return self._met[topic]

    def topics(self) -> dict[str, str]:
        """The staging topic of each target."""
        return {topic: target.staged for topic, target in self._met.items()}

    def send(self, producer: "Producer", topic: str | None, columns: Columns) -> None:
        """Queues a record for each row, to the staging topic of its target."""
        keys = columns.get("key")
        if topic is not None:
            if self.of(topic).needs_keys and (keys is None or keys.null_count):
                raise _keyless(topic)
            send(producer, self.of(topic).staged, columns)
            return
        named = columns["topic"].dictionary_encode()
        met = [self.of(name) for name in named.dictionary.to_pylist()]
        for place, target in enumerate(met):
            if target.needs_keys and _has_keyless(keys, named.indices, place):
                raise _keyless(named.dictionary[place].as_py())
        staged = pa.array([target.staged for target in met], pa.string()).take(named.indices)
        send(producer, None, columns | {"topic": staged})


def _has_keyless(keys: pa.Array | None, topics: pa.Array, topic: int) -> bool:
    """Returns true if a row of the topic has no key."""
    of_topic = [number == topic for number in topics.to_pylist()]
    return keys is None or bool(keys.filter(pa.array(of_topic, pa.bool_())).null_count)


def _keyless(topic: str) -> ConfigError:
    return ConfigError(f"column 'key': a row has none, and topic '{topic}' is compacted by key")
