"""The required and accepted columns of a table to be written, with their types."""

from difflib import get_close_matches

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    StringType,
    StructType,
    TimestampType,
)

from streamlog.errors import ConfigError

__all__ = ["columns_of"]

COLUMNS = ("key", "value", "headers", "topic", "partition", "timestamp")
_PASSED_OVER = ("offset", "timestamptype")
"""Columns that are ignored, so that a table that was read can be written unchanged."""

_EXPECTED = {
    "key": "binary or string",
    "value": "binary or string",
    "headers": "array<struct<key: string, value: binary>>",
    "topic": "string",
    "partition": "int",
    "timestamp": "timestamp",
}


def columns_of(schema: StructType) -> dict[str, int]:
    """Returns the position of each column that makes up records.

    Raises:
        ConfigError: A column is missing, unknown, given twice or of the wrong type.

    Example:
        >>> columns_of(StructType().add("offset", "long").add("value", "string"))
        {'value': 1}
    """
    places: dict[str, int] = {}
    faults: list[str] = []
    for place, field in enumerate(schema.fields):
        name = field.name.lower()
        if name in places:
            faults.append(f"column '{field.name}': given twice")
        elif name in _EXPECTED:
            places[name] = place
            if not _fits(name, field.dataType):
                found = field.dataType.simpleString()
                faults.append(f"column '{name}': invalid type {found}: expected {_EXPECTED[name]}")
        elif name not in _PASSED_OVER:
            faults.append(_unknown(field.name))
    if "value" not in places:
        faults.append("column 'value': missing, expected binary or string")
    if faults:
        raise ConfigError("; ".join(faults))
    return places


def _fits(name: str, kind: DataType) -> bool:
    match name:
        case "key" | "value":
            return isinstance(kind, BinaryType | StringType)
        case "topic":
            return isinstance(kind, StringType)
        case "partition":
            return isinstance(kind, IntegerType)
        case "timestamp":
            return isinstance(kind, TimestampType)
        case _:
            return _is_headers(kind)


def _is_headers(kind: DataType) -> bool:
    if not isinstance(kind, ArrayType) or not isinstance(kind.elementType, StructType):
        return False
    parts = [(field.name.lower(), field.dataType) for field in kind.elementType.fields]
    match parts:
        case [("key", StringType()), ("value", BinaryType())]:
            return True
        case _:
            return False


def _unknown(name: str) -> str:
    nearest = get_close_matches(name.lower(), COLUMNS, n=1)
    hint = f", did you mean '{nearest[0]}'?" if nearest else f": {', '.join(COLUMNS)} are written"
    return f"column '{name}': unknown{hint}"
