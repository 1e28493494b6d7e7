"""Producers and columns for a task's rows."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa

from streamlog._core.producing import Producer
from streamlog.errors import ConfigError, DeliveryError, RequestTimeout, StreamlogError
from streamlog.spark.clients import client_of
from streamlog.spark.sink.columns import Columns
from streamlog.spark.sink.settings import Settings

__all__ = ["columns_in", "producing"]

_REQUEST_MAX = "100 MiB"
"""The topic's max.message.bytes is the effective limit, unless kafka.max.request.size is set."""

_BATCH_BYTES = 256 << 10
"""Larger than the client's default, because a task has many rows and no latency requirement: up to
a third more rows a second. Batches that exceed the topic's limit are split."""


@contextmanager
def producing(settings: Settings) -> Iterator[Producer]:
    """Yields a producer for the task, and waits at the end until everything is delivered.

    Raises:
        DeliveryError: Records were not delivered.
    """
    patience = max(1, round(settings.connection.patience * 1000))
    config: dict[str, Any] = {
        "acks": settings.acks,
        "compression.type": settings.compression,
        "partitioner": settings.partitioner,
        "batch.size": _BATCH_BYTES,
        "max.request.size": _REQUEST_MAX,
        "delivery.timeout.ms": patience,
        "max.block.ms": patience,
    }
    # The client has kafka.* settings as defaults for its producers already.
    for name, _ in settings.connection.settings:
        config.pop(name, None)
    producer = client_of(settings.connection).producer(config=config)
    try:
        yield producer
        producer.close()
    except BaseException as error:
        if _is_late(error):
            error.add_note(
                f"brokers were away for longer than {settings.connection.patience_name} allows, "
                f"which is {settings.connection.patience:g} s; kafka.delivery.timeout.ms and "
                "kafka.max.block.ms, if they are given, come first"
            )
        # The task fails, and is repeated as a whole: do not wait for these records.
        with suppress(StreamlogError):
            producer.close(timeout=0)
        raise


def _is_late(error: BaseException) -> bool:
    causes = [why for _, _, _, why in error.failures] if isinstance(error, DeliveryError) else []
    return any(isinstance(each, RequestTimeout) for each in (error, *causes))


def columns_in(batch: pa.RecordBatch, settings: Settings) -> Columns:
    """Returns the columns of a batch that make up its records.

    Raises:
        ConfigError: A row has no topic, or a header has no key.
    """
    columns = {name: batch.column(place) for name, place in settings.columns.items()}
    if "topic" in columns and columns["topic"].null_count:
        raise ConfigError("column 'topic': a row has none, and there is no option 'topic'")
    if "headers" in columns:
        headers = columns["headers"].flatten()
        if headers.null_count or headers.field(0).null_count:
            raise ConfigError("column 'headers': a header has no key")
    return columns
