"""Decoding: each record becomes a row or a dead letter, and none is accepted in part."""

import io
import json
import random
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal

import fastavro
import pytest
from pyspark.sql import DataFrame, SparkSession

from spark.connector.tables import digest
from streamlog.errors import ConfigError
from streamlog.spark import (
    dead_letters,
    decode_avro,
    decode_csv,
    decode_json,
    decoded,
)


def table_of(spark: SparkSession, values: list[bytes | None]) -> DataFrame:
    """Returns a table like a topic, with ascending offsets."""
    rows = [(b"k", value, "orders", 0, offset) for offset, value in enumerate(values)]
    schema = "key binary, value binary, topic string, partition int, offset long"
    return spark.createDataFrame(rows, schema)


def errors_of(table: DataFrame) -> list[str | None]:
    """Returns the error of each row, in order."""
    return [row.error for row in table.orderBy("offset").select("undecoded.error").collect()]


MISFIT = "not a JSON object that fits the schema"


def test_of_json_only_one_whole_object_that_fits_decodes(spark: SparkSession) -> None:
    cases: dict[bytes | None, str | None] = {
        b'{"a":1,"b":"x"}': None,
        b' {"a": 2, "other": [1, {"b": 2}]}\n': None,
        None: None,
        b'{"a":1} rest': MISFIT,
        b'{"a":1}{"a":2}': MISFIT,
        b'{"a":1},{"a":2}': MISFIT,
        b'{"a":1}]': MISFIT,
        b'{"a":1}]}': MISFIT,
        b'{"a":1}],"records":[{"a":2}': MISFIT,
        b'{"a":1},{"streamlog_end":true}]} rest': MISFIT,
        b'{"a":1},{"streamlog_end":"' + b"0" * 32 + b'"}]} rest': MISFIT,
        b'[{"a":1}]': MISFIT,
        b"null": MISFIT,
        b"": MISFIT,
        b"12": MISFIT,
        b'{"a":': MISFIT,
        b'{"a":"x"}': MISFIT,
        b'{"a":1.5}': MISFIT,
        b'{"a":99999999999999999999}': MISFIT,
        b'{"b":"x"}': "a is missing or null",
        b'{"a":null}': "a is missing or null",
        b'{"a":1,"b":"\xff"}': "not UTF-8",
        b"\xff\xfe": "not UTF-8",
    }
    found = decode_json(table_of(spark, list(cases)), "a BIGINT NOT NULL, b STRING")
    assert errors_of(found) == list(cases.values())
    values = decoded(found).orderBy("offset").select("value").collect()
    assert [row.value and tuple(row.value) for row in values] == [(1, "x"), (2, None), None]


def test_of_csv_only_one_whole_line_that_fits_decodes(spark: SparkSession) -> None:
    misfit = "not a line of CSV that fits the schema"
    cases: dict[bytes | None, str | None] = {
        b"1,ada": None,
        b'2,"a, b"\r\n': None,
        b"3,": None,
        None: None,
        b"4": misfit,
        b"5,a,b": misfit,
        b"x,ada": misfit,
        b"": misfit,
        b" ": misfit,
        b"6,a\n7,b": misfit,
        b",ada": "id is missing or null",
        b"8,\xff": "not UTF-8",
    }
    found = decode_csv(table_of(spark, list(cases)), "id INT NOT NULL, name STRING")
    assert errors_of(found) == list(cases.values())
    values = decoded(found).orderBy("offset").select("value").collect()
    assert [row.value and tuple(row.value) for row in values] == [
        (1, "ada"),
        (2, "a, b"),
        (3, None),
        None,
    ]


AVRO = """
{"type": "record", "name": "Order", "namespace": "shop", "fields": [
  {"name": "id", "type": "long"},
  {"name": "item", "type": ["null", "string"]},
  {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
  {"name": "again", "type": "Kind"},
  {"name": "prices", "type": {"type": "array", "items": "double"}},
  {"name": "tags", "type": {"type": "map", "values": "string"}},
  {"name": "day", "type": {"type": "int", "logicalType": "date"}},
  {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
  {"name": "total", "type":
    {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
  {"name": "where", "type": {"type": "record", "name": "Place", "fields": [
    {"name": "city", "type": "string"}]}}
]}
"""
ORDER = {
    "id": 7,
    "item": None,
    "kind": "A",
    "again": "B",
    "prices": [1.5, 2.0],
    "tags": {"a": "b"},
    "day": date(2026, 11, 1),
    "at": datetime(2026, 11, 1, 8, tzinfo=UTC),
    "total": Decimal("12.34"),
    "where": {"city": "Bern"},
}


def avro_of(record: Mapping[str, object]) -> bytes:
    """Returns the bytes of an Avro record."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(AVRO)), record)
    return out.getvalue()


def test_of_avro_only_one_whole_record_decodes(spark: SparkSession) -> None:
    whole = avro_of(ORDER)
    found = decode_avro(table_of(spark, [whole, None, whole + b"\0\0", whole[:-2], b""]), AVRO)
    first, tombstone, *rest = errors_of(found)
    assert (first, tombstone, rest[0]) == (None, None, "2 bytes after the record")
    assert all(str(error).startswith("not a record of the schema") for error in rest[1:])
    value = decoded(found).orderBy("offset").first()
    assert value is not None
    order = value.value.asDict(recursive=True)
    assert order == ORDER | {"at": order["at"]}
    shown = decoded(found).where("offset = 0").selectExpr("string(value.at)").first()
    assert shown is not None
    assert shown[0] == "2026-11-01 08:00:00"


def written(kind: object, value: object) -> bytes:
    """Returns a record with a field of this type."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(record_of(kind)), {"id": value})
    return out.getvalue()


def record_of(kind: object) -> dict[str, object]:
    """Returns the schema of such a record."""
    return {"type": "record", "name": "R", "fields": [{"name": "id", "type": kind}]}


CENTS = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}


@pytest.mark.parametrize(
    ("kind", "fitting", "large", "expected"),
    [
        ("int", written("long", 3), written("long", 2**40), 3),
        ("int", written("long", 3), b"\xff" * 20 + b"\x01", 3),
        (CENTS, written("bytes", b"\x7b"), written("bytes", b"\x7f" * 5), Decimal("1.23")),
    ],
)
def test_a_number_too_large_for_its_type_is_a_letter_of_its_own(
    spark: SparkSession, kind: object, fitting: bytes, large: bytes, expected: object
) -> None:
    table = table_of(spark, [fitting, large, fitting]).coalesce(1)
    found = decode_avro(table, json.dumps(record_of(kind)))
    misfit = "not a record of the schema: a number is too large for its type"
    assert errors_of(found) == [None, misfit, None]
    assert [row.id for row in decoded(found).select("value.id").collect()] == [expected] * 2


def test_a_uuid_is_a_text(spark: SparkSession) -> None:
    told = "123E4567-e89b-12d3-a456-426614174000"
    table = table_of(spark, [written("string", told)])
    kind = {"type": "string", "logicalType": "uuid"}
    found = decode_avro(table, json.dumps(record_of(kind)))
    assert errors_of(found) == [None]
    assert [row.id for row in decoded(found).select("value.id").collect()] == [told]


def test_the_frame_of_confluent_is_taken_off(spark: SparkSession) -> None:
    whole = avro_of(ORDER)
    framed = [b"\0\0\0\0\x09" + whole, b"\1\0\0\0\x09" + whole, b"\0\0"]
    found = decode_avro(table_of(spark, list(framed)), AVRO, framing="confluent")
    missing = "no frame of Confluent before the record"
    assert errors_of(found) == [None, missing, missing]


def test_every_record_is_a_row_or_a_letter(spark: SparkSession) -> None:
    seed = 20261
    chance = random.Random(seed)
    whole = b'{"id": 12, "item": "a pen", "tags": ["x", "y"]}'
    values: list[bytes] = []
    for _ in range(2000):
        value = bytearray(whole)
        for _ in range(chance.choice([0, 0, 1, 2])):
            value[chance.randrange(len(value))] = chance.randrange(256)
        values.append(bytes(value[: chance.choice([len(value), chance.randrange(len(value))])]))
    table = table_of(spark, list(values)).selectExpr("*", "value AS raw")
    found = decode_json(table, "id BIGINT, item STRING, tags ARRAY<STRING>").cache()
    rows = [bytes(row.raw) for row in decoded(found).select("raw").collect()]
    letters = [bytes(row.value) for row in dead_letters(found).select("value").collect()]
    assert digest(rows + letters) == digest(values), f"seed {seed}"
    assert len(rows) > 300, f"seed {seed}"
    assert len(letters) > 300, f"seed {seed}"


def test_a_letter_names_its_origin(spark: SparkSession) -> None:
    letters = dead_letters(decode_csv(table_of(spark, [b"1,a", b"no"]), "id INT, name STRING"))
    (letter,) = letters.collect()
    assert (bytes(letter.key), bytes(letter.value)) == (b"k", b"no")
    assert {header.key: bytes(header.value) for header in letter.headers} == {
        "streamlog-error": b"not a line of CSV that fits the schema",
        "streamlog-topic": b"orders",
        "streamlog-partition": b"0",
        "streamlog-offset": b"1",
    }


@pytest.mark.parametrize(
    "schema",
    [
        '"long"',
        "{",
        '{"type": "record", "name": "R", "fields": [{"name": "a", "type": ["int", "string"]}]}',
        '{"type": "record", "name": "R", "fields": [{"name": "a", "type": ["null", "R"]}]}',
    ],
)
def test_a_schema_that_spark_cannot_hold_is_refused(spark: SparkSession, schema: str) -> None:
    with pytest.raises(ConfigError, match="schema"):
        decode_avro(table_of(spark, []), schema)


def test_a_schema_that_is_invalid_is_refused(spark: SparkSession) -> None:
    with pytest.raises(ConfigError, match="schema: invalid value 'id BIGINTT'"):
        decode_json(table_of(spark, []), "id BIGINTT")
