"""The mapping of Avro types to Spark types."""

from collections.abc import Callable
from typing import Any

from pyspark.sql import types as T

from streamlog.errors import ConfigError

__all__ = ["struct_of"]

_PLAIN: dict[str, Callable[[], T.DataType]] = {
    "boolean": T.BooleanType,
    "int": T.IntegerType,
    "long": T.LongType,
    "float": T.FloatType,
    "double": T.DoubleType,
    "bytes": T.BinaryType,
    "fixed": T.BinaryType,
    "string": T.StringType,
    "enum": T.StringType,
}
_LOGICAL: dict[str, Callable[[], T.DataType]] = {
    "date": T.DateType,
    "timestamp-millis": T.TimestampType,
    "timestamp-micros": T.TimestampType,
    "local-timestamp-millis": T.TimestampNTZType,
    "local-timestamp-micros": T.TimestampNTZType,
}
_NOT_KEPT = ("time-millis", "time-micros", "duration")


def struct_of(schema: object) -> T.StructType:
    """Returns the struct for an Avro record.

    Raises:
        ConfigError: The schema is not a record, or has a type without a counterpart in Spark:
            unions of several types besides null, times of day, durations, and recursive records.
    """
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise ConfigError("schema: expected a record of Avro, {'type': 'record', ...}")
    found = _Types().of(schema, "the record")
    assert isinstance(found, T.StructType), found
    return found


class _Types:
    """Converts a schema, in which later types can refer to named types."""

    def __init__(self) -> None:
        self._named: dict[str, T.DataType | None] = {}

    def of(self, schema: object, place: str) -> T.DataType:
        if isinstance(schema, list):
            return self._union(schema, place)
        if isinstance(schema, str):
            return self._by_name(schema, place)
        if not isinstance(schema, dict):
            raise ConfigError(f"schema: {place} is no type of Avro: {schema!r}")
        kind, logical = schema["type"], schema.get("logicalType")
        if isinstance(kind, dict | list):
            return self.of(kind, place)
        if kind == "record":
            return self._record(schema, place)
        if kind == "array":
            return T.ArrayType(self.of(schema["items"], f"{place}[]"))
        if kind == "map":
            return T.MapType(T.StringType(), self.of(schema["values"], f"{place}[]"))
        if logical == "decimal":
            found: T.DataType = T.DecimalType(schema["precision"], schema.get("scale", 0))
        elif logical in _NOT_KEPT:
            raise ConfigError(f"schema: {place} is a {logical}, which Spark has no type for")
        elif logical in _LOGICAL:
            found = _LOGICAL[logical]()
        else:
            found = self._by_name(kind, place)
        if "name" in schema:
            self._named[schema["name"].rsplit(".")[-1]] = found
        return found

    def _by_name(self, name: str, place: str) -> T.DataType:
        if name in _PLAIN:
            return _PLAIN[name]()
        found = self._named.get(name.rsplit(".")[-1])
        if found is None:
            raise ConfigError(f"schema: {place} is a {name}, which Spark has no type for")
        return found

    def _record(self, schema: dict[str, Any], place: str) -> T.DataType:
        name = schema["name"].rsplit(".")[-1]
        self._named[name] = None
        fields = [
            T.StructField(field["name"], self.of(field["type"], f"{place}.{field['name']}"))
            for field in schema["fields"]
        ]
        self._named[name] = T.StructType(fields)
        return T.StructType(fields)

    def _union(self, schemas: list[Any], place: str) -> T.DataType:
        others = [schema for schema in schemas if schema != "null"]
        if len(others) != 1:
            raise ConfigError(
                f"schema: {place} is a union of {len(others)} types, expected one and null"
            )
        return self.of(others[0], place)
