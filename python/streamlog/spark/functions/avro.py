"""Avro in a binary column, decoded by fastavro in Arrow batches."""

import json
from io import BytesIO
from typing import Any, Literal

import pyarrow
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import StringType, StructType

from streamlog.errors import ConfigError, MissingExtra
from streamlog.spark.functions.avro_types import struct_of
from streamlog.spark.functions.letters import with_error

__all__ = ["decode_avro"]

_RESULT = "streamlog_avro"
_CONFLUENT_BYTES = 5


def decode_avro(
    table: DataFrame,
    schema: str,
    *,
    column: str = "value",
    framing: Literal["none", "confluent"] = "none",
) -> DataFrame:
    """Replaces a column with an Avro record in each row by a struct.

    Otherwise like ``decode_json``. Every value is exactly one record of the schema; Avro cannot
    distinguish a record of another schema that happens to fit.

    Args:
        table: A table or a stream.
        schema: The writers' schema, as JSON; a record.
        column: The column to decode, binary.
        framing: ``"confluent"`` if a zero byte and a schema id of four bytes precede each record.
            The schema id is not looked up.

    Raises:
        ConfigError: The schema is invalid, or has a type without a counterpart in Spark.
        MissingExtra: fastavro is not installed.

    Example:
        >>> schema = '{"type": "record", "name": "O", "fields": [{"name": "id", "type": "long"}]}'
        >>> table = spark.sql("SELECT * FROM VALUES (X'04'), (X'0400') AS t(value)")
        >>> decode_avro(table, schema).select("value.id", "undecoded.error").collect()
        [Row(id=2, error=None), Row(id=None, error='1 byte after the record')]
    """
    try:
        import fastavro
    except ImportError as error:
        message = "Avro is decoded by fastavro, which is missing: pip install fastavro"
        raise MissingExtra(message) from error
    if framing not in ("none", "confluent"):
        raise ConfigError(f"framing: invalid value '{framing}': expected 'none' or 'confluent'")
    try:
        parsed = fastavro.parse_schema(json.loads(schema, object_hook=_not_as_uuid))
    except (ValueError, TypeError, fastavro.schema.SchemaParseException) as error:
        raise ConfigError(f"schema: it is no schema of Avro: {error}") from error
    fields = struct_of(json.loads(schema))
    result = StructType().add("value", fields).add("error", StringType())
    skipped = _CONFLUENT_BYTES if framing == "confluent" else 0

    # Spark derives the kind of function from these annotations when it runs.
    def decode(values: pyarrow.Array) -> pyarrow.Array:
        return _decode(values, parsed, result, skipped)

    decoder = arrow_udf(decode, result)  # type: ignore[call-overload]
    table = table.withColumn(_RESULT, decoder(F.col(column).cast("binary")))
    found = F.col(_RESULT)
    table = with_error(table, column, found.getField("value"), found.getField("error"))
    return table.drop(_RESULT)


def _not_as_uuid(kind: dict[str, Any]) -> dict[str, Any]:
    """Replaces a uuid by its text or bytes: Spark has no such type."""
    return {name: value for name, value in kind.items() if (name, value) != _UUID}


_UUID = ("logicalType", "uuid")


def _decode(
    values: pyarrow.Array,
    schema: "str | list[Any] | dict[str, Any]",
    result: StructType,
    skipped: int,
) -> pyarrow.Array:
    """Returns the values and errors of a batch; runs in Spark's workers."""
    from pyspark.sql.pandas.types import to_arrow_type

    rows = [_row(value, schema, skipped) for value in values.to_pylist()]
    kind = to_arrow_type(result, timezone="UTC")
    try:
        return pyarrow.array(rows, type=kind)
    except _TOO_LARGE:
        return pyarrow.array([_fitting(row, kind) for row in rows], type=kind)


_TOO_LARGE = (pyarrow.ArrowInvalid, OverflowError)
"""Errors for numbers that are too large for their types; Avro's encoding has no limit."""


def _fitting(row: dict[str, Any] | None, kind: pyarrow.DataType) -> dict[str, Any] | None:
    try:
        pyarrow.array([row], type=kind)
    except _TOO_LARGE:
        error = "not a record of the schema: a number is too large for its type"
        return {"value": None, "error": error}
    return row


def _row(
    value: bytes | None, schema: "str | list[Any] | dict[str, Any]", skipped: int
) -> dict[str, Any] | None:
    from fastavro import schemaless_reader

    if value is None:
        return None
    if skipped and (len(value) < skipped or value[0] != 0):
        return {"value": None, "error": "no frame of Confluent before the record"}
    rest = BytesIO(value[skipped:])
    try:
        record = schemaless_reader(rest, schema)
    except Exception as error:  # malformed bytes can raise anything
        return {"value": None, "error": f"not a record of the schema: {type(error).__name__}"}
    left = len(value) - skipped - rest.tell()
    if left:
        plural = "" if left == 1 else "s"
        return {"value": None, "error": f"{left} byte{plural} after the record"}
    return {"value": record, "error": None}
