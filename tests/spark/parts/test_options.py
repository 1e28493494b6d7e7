"""Options of a read: accepted values, and errors for others, without contacting a broker."""

import pytest
from pyspark.sql.types import StringType, StructField, StructType

from streamlog import ConfigError
from streamlog.spark.options import Connection, Options, duration, size
from streamlog.spark.reading.columns import schema_of
from streamlog.spark.reading.settings import Reading, default_schema
from streamlog.spark.reading.times import time_ms
from streamlog.spark.sink.settings import Settings

GIVEN = {"bootstrap": "127.0.0.1:9", "subscribe": "orders"}
SCHEMA = default_schema(GIVEN)


def batch(**options: str) -> Reading:
    """Parses the options of a batch read."""
    return Reading.of_batch({**GIVEN, **_dotted(options)}, SCHEMA)


def stream(**options: str) -> Reading:
    """Parses the options of a stream."""
    return Reading.of_stream({**GIVEN, **_dotted(options)}, SCHEMA)


def _dotted(options: dict[str, str]) -> dict[str, str]:
    return {name.replace("__", "."): value for name, value in options.items()}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"subscribePattern": "o.*"}, "exactly one .* found 'subscribe' and 'subscribePattern'"),
        ({"startingOfsets": "earliest"}, "'startingofsets': unknown, did you mean 'startingOffs"),
        ({"startingOffsets": "{"}, "'startingOffsets': .* line 1, column 2: expected JSON"),
        ({"startingOffsets": "[1]"}, "'earliest, latest|'startingOffsets': .* expected earliest"),
        ({"startingOffsets": '{"orders":5}'}, "'orders' has no partitions"),
        ({"startingOffsets": '{"orders":{"a":5}}'}, "'a' of 'orders' is no partition"),
        ({"startingOffsets": '{"orders":{"0":"5"}}'}, "'5' of 'orders', partition 0: expected"),
        ({"startingOffsets": '{"orders":{"0":-3}}'}, "value -3 of 'orders', partition 0: expected"),
        ({"startingOffsets": '{"orders":{"0":-1}}'}, "a batch read would be empty"),
        ({"startingOffsets": "latest"}, "a batch read would be empty"),
        ({"startingOffsets": "group:"}, "expected group:NAME"),
        ({"endingOffsets": "earliest"}, "'endingOffsets': invalid value 'earliest'"),
        ({"endingOffsets": '{"orders":{"0":-2}}'}, "the read would be empty"),
        ({"startingTimestamp": "yesterday"}, "'startingTimestamp': invalid value 'yesterday'"),
        ({"startingTimestamp": "1793491200000000"}, "milliseconds since 1970, before the year"),
        ({"startingTimestamp": "-1mo"}, "'startingTimestamp': invalid value '-1mo'"),
        ({"startingTimestamp": "2026-11-01T00:00"}, "a time with its zone"),
        ({"startingOffsetsByTimestamp": '{"orders":{"0":"x"}}'}, "'startingOffsetsByTimestamp'"),
        ({"startingTimestamp": "2000", "endingTimestamp": "1000"}, "2000 is after endingTimestamp"),
        ({"startingOffsetsByTimestampStrategy": "first"}, "expected 'error' or 'latest'"),
        ({"minPartitions": "0"}, "'minPartitions': invalid value '0': expected a number of at"),
        ({"maxRecordsPerPartition": "many"}, "'maxRecordsPerPartition': invalid value 'many'"),
        ({"maxBytesPerPartition": "64 MiBs"}, "'maxBytesPerPartition': .* expected a size"),
        ({"failOnDataLoss": "maybe"}, "'failOnDataLoss': invalid value 'maybe'"),
        ({"isolation": "serializable"}, "'read_committed' or 'read_uncommitted'"),
        ({"maxOffsetsPerTrigger": "5"}, "'maxoffsetspertrigger': not taken, it is of streams"),
        ({"brokerTimeout": "soon"}, "'brokerTimeout': invalid value 'soon'"),
        ({"kafka__bootstrap__servers": "a:1"}, "given twice"),
        ({"kafka__group__id": "mine"}, "'kafka.group.id': not taken, .* 'group'"),
        ({"kafka__security__protocol": "SASL_SSL"}, "expected PLAINTEXT"),
        ({"fetchOffset__numRetries": "3"}, "use 'brokerTimeout'"),
        ({"path": "orders"}, "name the topics by 'subscribe'"),
        ({"kafka__isolation__level": "most"}, "option 'isolation': invalid value 'most'"),
        (
            {"isolation": "read_committed", "kafka__isolation__level": "read_committed"},
            "option 'isolation': given twice, here and as 'kafka.isolation.level'",
        ),
    ],
)
def test_invalid_values_are_reported_with_the_expected_form(
    options: dict[str, str], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        batch(**options)


def test_options_of_kafkas_source_are_taken_under_their_names() -> None:
    ours = batch(isolation="read_uncommitted", brokerTimeout="5s")
    kafkas = batch(kafka__isolation__level="read_uncommitted", kafkaConsumer__pollTimeoutMs="5000")
    assert kafkas == ours
    assert ours.connection == Connection("127.0.0.1:9", patience=5.0)


@pytest.mark.parametrize(
    ("kafkas", "ours"),
    [
        ({"kafka.acks": "1"}, {"acks": "1"}),
        ({"kafka.acks": "-1"}, {"acks": "all"}),
        ({"kafka.compression.type": "zstd"}, {"compression": "zstd"}),
        ({"kafkaConsumer.pollTimeoutMs": "5000"}, {"brokerTimeout": "5s"}),
    ],
)
def test_options_of_kafkas_sink_are_taken_under_their_names(
    kafkas: dict[str, str], ours: dict[str, str]
) -> None:
    schema = StructType().add("value", "binary")
    given = {"bootstrap": "127.0.0.1:9", "topic": "orders"}
    settings = [Settings.of(given | each, schema, overwrite=False) for each in (kafkas, ours)]
    assert settings[0] == settings[1]
    assert settings[0].connection.settings == ()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"endingOffsets": "latest"}, "a stream has no end"),
        ({"minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "5"}, "9 is more than maxOffsets"),
        ({"maxTriggerDelay": "soon"}, "'maxTriggerDelay': invalid value 'soon'"),
        ({"maxBytesPerTrigger": "0"}, "'maxBytesPerTrigger': invalid value '0'"),
    ],
)
def test_options_that_a_stream_does_not_have_are_reported(
    options: dict[str, str], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        stream(**options)


def test_all_unknown_names_are_reported_at_once() -> None:
    with pytest.raises(ConfigError, match=r"'colums': unknown.*'minpartition': unknown"):
        batch(colums="value", minPartition="3")


@pytest.mark.parametrize("given", [{}, {"bootstrap": "a:1"}, {"subscribe": "orders"}])
def test_an_address_and_topics_are_needed(given: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"'bootstrap': missing|topics: expected exactly one"):
        default_schema(given)


@pytest.mark.parametrize(
    ("name", "text"),
    [("assign", "{}"), ("assign", '{"a":0}'), ("subscribe", " , "), ("subscribePattern", "(")],
)
def test_topics_that_are_no_topics_are_refused(name: str, text: str) -> None:
    with pytest.raises(ConfigError, match=f"option '{name}'"):
        default_schema({"bootstrap": "a:1", name: text})


def test_names_are_known_in_any_case_and_kafkas_names_are_mapped() -> None:
    reading = Reading.of_batch(
        {
            "KAFKA.BOOTSTRAP.SERVERS": "a:1,b:2",
            "Subscribe": "orders",
            "kafka.request.timeout.ms": "5000",
            "kafka.security.protocol": "plaintext",
            "brokertimeout": "2m",
        },
        SCHEMA,
    )
    connection = reading.connection
    assert connection.bootstrap == "a:1,b:2"
    assert connection.settings == (("request.timeout.ms", "5000"),)
    assert connection.patience == 120.0


def test_columns_are_a_part_of_kafkas_in_any_order() -> None:
    assert SCHEMA.fieldNames() == [
        "key", "value", "topic", "partition", "offset", "timestamp", "timestampType",
    ]  # fmt: skip
    some = default_schema({**GIVEN, "columns": "offset, headers,value"})
    assert some.fieldNames() == ["offset", "headers", "value"]
    assert Reading.of_batch(GIVEN, some).columns == ("offset", "headers", "value")
    with pytest.raises(ConfigError, match="no column 'valeu', did you mean 'value'"):
        default_schema({**GIVEN, "columns": "valeu"})
    with pytest.raises(ConfigError, match="named twice"):
        default_schema({**GIVEN, "columns": "value,value"})
    with pytest.raises(ConfigError, match="have no headers"):
        default_schema({**GIVEN, "columns": "value", "includeHeaders": "true"})


def test_a_schema_that_is_invalid_is_reported() -> None:
    text = StructType([StructField("value", StringType())])
    with pytest.raises(ConfigError, match="'value' is binary, not string: cast it after reading"):
        Reading.of_batch(GIVEN, text)
    with pytest.raises(ConfigError, match="the schema that is given names others"):
        Reading.of_batch({**GIVEN, "columns": "key"}, schema_of(Options({}, ())))
    with pytest.raises(ConfigError, match="'includeHeaders': given with a schema that has none"):
        Reading.of_batch({**GIVEN, "includeHeaders": "true"}, SCHEMA)


def test_sizes_and_durations_have_units() -> None:
    assert [size("x", text) for text in ("5", "2k", "2 KiB", "1MB", "1g")] == [
        5, 2048, 2048, 1 << 20, 1 << 30,
    ]  # fmt: skip
    assert [duration("x", text) for text in ("250", "250ms", "2s", "2 min", "1h", "1d")] == [
        0.25, 0.25, 2, 120, 3600, 86400,
    ]  # fmt: skip
    assert time_ms("x", "1700000000000") == 1_700_000_000_000
    assert time_ms("x", "2026-11-01T01:00:00+01:00") == time_ms("x", "2026-11-01T00:00:00Z")
    assert time_ms("x", "-1h") - time_ms("x", "-2h") == pytest.approx(3_600_000, abs=2000)


def test_a_connection_is_what_a_client_would_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAMLOG_BOOTSTRAP", "h:1")
    found = Connection.of(None, {"c": 5, "a": True, "b": ["x", "y"]})
    assert found == Connection("h:1", (("a", "true"), ("b", "x,y"), ("c", "5")))
    assert Connection.of(None, {"bootstrap.servers": ["h:2", "h:3"]}).bootstrap == "h:2,h:3"
    assert Connection.of("h:4", {}) == Connection("h:4")
