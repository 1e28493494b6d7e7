"""JSON and CSV in a binary column, decoded by Spark.

No value is accepted in part: text after a value, a field of another type, and bytes that are not
text are errors. Spark's own functions would return null, or drop a part of the value.
"""

from secrets import token_hex

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StringType, StructType

from streamlog.errors import ConfigError
from streamlog.spark.functions.letters import with_outcome

__all__ = ["decode_csv", "decode_json", "schema_of"]

_END = "streamlog_end"
_BROKEN = "streamlog_broken"
_SEAL = token_hex(16)
"""A random name that no record can contain, so that no record can end or begin the list itself."""


def decode_json(table: DataFrame, schema: str | StructType, *, column: str = "value") -> DataFrame:
    """Replaces a column with a JSON object in each row by a struct.

    A value that does not decode becomes null, and is kept with the reason in a new column
    ``undecoded`` for ``decoded`` and ``dead_letters``. A null stays null: it is a tombstone, not an
    error. Fields that are not in the schema are dropped; missing fields are null, which is an error
    for a field that is ``NOT NULL``.

    Args:
        table: A table or a stream; a topic for example.
        schema: The fields, as ``"id BIGINT NOT NULL, item STRING"`` or a StructType.
        column: The column to decode, binary or string.

    Raises:
        ConfigError: The schema is invalid.

    Example:
        >>> orders = spark.sql('''SELECT encode(j, 'utf-8') AS value
        ...                       FROM VALUES ('{"id": 1}'), ('{"id": "x"}') AS t(j)''')
        >>> decode_json(orders, "id BIGINT").select("value.id", "undecoded.error").collect()
        [Row(id=1, error=None), Row(id=None, error='not a JSON object that fits the schema')]
    """
    fields = schema_of(table, schema)
    text = F.col(column).cast("string")
    # The second element, which ends the list, is parsed only if the first is a complete value.
    listed = F.concat(F.lit(f'{{"{_SEAL}":['), text, F.lit(f',{{"{_END}":"{_SEAL}"}}]}}'))
    parsed = F.from_json(listed, _listed(fields), _permissive())
    table = table.withColumn(_BROKEN, parsed)
    records = F.col(_BROKEN).getField(_SEAL)
    is_whole = (F.size(records) == 2) & (F.get(records, F.lit(1)).getField(_END) == _SEAL)
    is_clean = F.col(f"{_BROKEN}.{_BROKEN}").isNull()
    first = F.get(records, F.lit(0))
    is_one = F.coalesce(is_clean & is_whole & first.isNotNull(), F.lit(False))
    value = F.struct(*(first.getField(field.name).alias(field.name) for field in fields))
    reasons = [
        *_no_text(text),
        (~is_one, "not a JSON object that fits the schema"),
        *_nulls(fields, first),
    ]
    return with_outcome(table, column, value, reasons).drop(_BROKEN)


def decode_csv(
    table: DataFrame,
    schema: str | StructType,
    *,
    column: str = "value",
    separator: str = ",",
) -> DataFrame:
    """Replaces a column with a line of CSV in each row by a struct.

    Otherwise like ``decode_json``. A line has as many fields as the schema, an empty field is null,
    and the end of the line is not part of its last field.

    Args:
        table: A table or a stream.
        schema: The fields in their order.
        column: The column to decode, binary or string.
        separator: The separator of fields.

    Raises:
        ConfigError: The schema is invalid.

    Example:
        >>> lines = spark.sql("SELECT * FROM VALUES ('1,ada'), ('2') AS t(value)")
        >>> decode_csv(lines, "id INT, name STRING").select("value.*", "undecoded.error").collect()
        [Row(id=1, name='ada', error=None),
         Row(id=None, name=None, error='not a line of CSV that fits the schema')]
    """
    fields = schema_of(table, schema)
    text = F.col(column).cast("string")
    wanted = _nullable(fields).add(_BROKEN, StringType())
    line = F.regexp_replace(text, r"\r?\n$", "")
    parsed = F.from_csv(line, wanted.simpleString(), {**_permissive(), "sep": separator})
    table = table.withColumn(_BROKEN, parsed)
    first = F.col(_BROKEN)
    is_broken = (line == "") | first.isNull() | first.getField(_BROKEN).isNotNull()
    value = F.struct(*(first.getField(field.name).alias(field.name) for field in fields))
    reasons = [
        *_no_text(text),
        (is_broken, "not a line of CSV that fits the schema"),
        *_nulls(fields, first),
    ]
    return with_outcome(table, column, value, reasons).drop(_BROKEN)


def schema_of(table: DataFrame, schema: str | StructType) -> StructType:
    """Parses a schema.

    Raises:
        ConfigError: It is invalid.
    """
    if isinstance(schema, StructType):
        return schema
    try:
        found = StructType.fromDDL(schema)
    except Exception as error:
        reason = str(error).strip().splitlines()[0]
        message = f"schema: invalid value '{schema}': expected as 'id BIGINT NOT NULL, item STRING'"
        raise ConfigError(f"{message} ({reason})") from error
    if not isinstance(found, StructType) or not found.fields:
        raise ConfigError(f"schema: '{schema}' has no fields")
    return found


def _permissive() -> dict[str, str]:
    return {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _BROKEN}


def _nullable(fields: StructType) -> StructType:
    found = StructType()
    for field in fields:
        found = found.add(field.name, field.dataType, True)
    return found


def _listed(fields: StructType) -> StructType:
    element = _nullable(fields).add(_END, StringType())
    return StructType().add(_SEAL, ArrayType(element)).add(_BROKEN, StringType())


def _no_text(text: Column) -> list[tuple[Column, str]]:
    return [(~F.is_valid_utf8(text), "not UTF-8")]


def _nulls(fields: StructType, value: Column) -> list[tuple[Column, str]]:
    return [
        (value.getField(field.name).isNull(), f"{field.name} is missing or null")
        for field in fields
        if not field.nullable
    ]
