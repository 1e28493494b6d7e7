"""The columns of a topic, and the selection of a read.

Names, types and order are the same as in Kafka's own source. Columns that are not selected are
neither decoded by the client nor passed to Spark.
"""

from difflib import get_close_matches

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from streamlog.errors import ConfigError
from streamlog.spark.options import Options

__all__ = ["ARROW_NAMES", "HEADERS", "schema_of", "wanted"]

HEADERS = "headers"

_HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
_TYPES: dict[str, DataType] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
    HEADERS: ArrayType(_HEADER),
}

ARROW_NAMES = {name: name for name in _TYPES} | {"timestampType": "timestamp_type"}
"""The client's names of the columns."""


def schema_of(options: Options) -> StructType:
    """Returns the selected columns: Kafka's seven, with or without headers, or the named columns.

    Raises:
        ConfigError: There is no such column, or it is named twice.

    Example:
        >>> from streamlog.spark.reading.columns import schema_of
        >>> from streamlog.spark.options import Options
        >>> schema_of(Options({"columns": "value,offset"}, ["columns"])).simpleString()
        'struct<value:binary,offset:bigint>'
    """
    text = options.text("columns")
    has_headers = options.truth("includeHeaders", False)
    if text is None:
        names = [name for name in _TYPES if name != HEADERS or has_headers]
    else:
        names = [name.strip() for name in text.split(",")]
        if has_headers and HEADERS not in names:
            raise ConfigError("option 'includeHeaders': given with 'columns' that have no headers")
    return StructType([_field("option 'columns'", names, name) for name in names])


def wanted(schema: StructType, options: Options) -> tuple[str, ...]:
    """Returns the column names of a schema that the user gave, or that Spark took from the source.

    Raises:
        ConfigError: There is no such column, its type is wrong, or the options contradict it.
    """
    names = schema.fieldNames()
    for field in schema.fields:
        own = _field("the schema", names, field.name)
        if not _is_same(own.dataType, field.dataType):
            is_type, has_type = own.dataType.simpleString(), field.dataType.simpleString()
            words = f"the schema: column '{field.name}' is {is_type}, not {has_type}"
            raise ConfigError(f"{words}: cast it after reading")
    if options.given("columns") and names != schema_of(options).fieldNames():
        raise ConfigError("option 'columns': the schema that is given names others")
    if options.truth("includeHeaders", False) and HEADERS not in names:
        raise ConfigError("option 'includeHeaders': given with a schema that has none")
    return tuple(names)


def _field(where: str, names: list[str], name: str) -> StructField:
    if name not in _TYPES:
        nearest = get_close_matches(name, _TYPES, n=1)
        hint = f", did you mean '{nearest[0]}'?" if nearest else f": there are {', '.join(_TYPES)}"
        raise ConfigError(f"{where}: there is no column '{name}'{hint}")
    if names.count(name) > 1:
        raise ConfigError(f"{where}: column '{name}' is named twice")
    return StructField(name, _TYPES[name])


def _is_same(own: DataType, given: DataType) -> bool:
    # Ignore nullability: a schema given as a text cannot express it.
    return own.simpleString() == given.simpleString()
