"""Conversion of Spark's Arrow batches into memory views for the producer."""

from array import array
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

if TYPE_CHECKING:
    from streamlog._core.producing import Producer

__all__ = ["Columns", "send"]

Columns = dict[str, pa.Array]
"""Arrow arrays of equal length, by the part of the record that they contain."""

_TYPES = {
    "key": pa.binary(),
    "value": pa.binary(),
    "headers": pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
    "topic": pa.string(),
    "partition": pa.int32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}
_NO_NUMBERS = {"B": array("B"), "i": array("i", [0]), "q": array("q")}


def send(producer: "Producer", topic: str | None, columns: Columns) -> None:
    """Queues a record for each row, to the topic or, without it, to the topic in the row.

    Raises:
        MessageTooLarge: A record exceeds the limit of the producer.
        TopicNotFound: There is no such topic or partition.
    """
    rows = len(columns["value"])
    parts = {name: _parts(_plain(column, _TYPES[name])) for name, column in columns.items()}
    producer._send_columns(topic, rows, parts)


def _plain(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Returns the column with its expected type, starting at the beginning of its buffers."""
    if column.type != wanted:
        column = column.cast(wanted)
    return pa.concat_arrays([column]) if column.offset else column


def _parts(column: pa.Array) -> tuple[Any, ...]:
    """Returns the validity bitmap, and the other buffers of the column."""
    kind = column.type
    buffers = column.buffers()
    bits = None if buffers[0] is None else _numbers(buffers[0], "B")
    if pa.types.is_list(kind):
        keys, values = (
            _plain(column.values.field(place), kind.value_type[place].type) for place in (0, 1)
        )
        return (bits, _numbers(buffers[1], "i"), _parts(keys), _parts(values))
    if pa.types.is_int32(kind) or pa.types.is_timestamp(kind):
        return (bits, _numbers(buffers[1], "i" if pa.types.is_int32(kind) else "q"))
    return (bits, _numbers(buffers[1], "i"), _numbers(buffers[2], "B"))


def _numbers(buffer: pa.Buffer | None, kind: Literal["B", "i", "q"]) -> memoryview:
    """Returns the elements of a buffer; an empty buffer may be None."""
    if buffer is None or buffer.size == 0:
        return memoryview(_NO_NUMBERS[kind])
    return memoryview(buffer).cast("B").cast(kind)
