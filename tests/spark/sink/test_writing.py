"""Tables and streams become records; invalid columns and options are refused."""

from collections import Counter
from datetime import UTC, datetime

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, lit
from pyspark.sql.types import StructType

import streamlog
from py.support.broker import BrokerProcess
from spark.sink.query import counted
from streamlog.errors import ConfigError
from streamlog.spark.sink.settings import Settings

_HEADERS = "array<struct<key: string, value: binary>>"


def write(table: DataFrame, broker: BrokerProcess, **options: object) -> None:
    """Writes a table."""
    given = {"bootstrap": broker.address} | {name: str(value) for name, value in options.items()}
    table.write.format("streamlog").options(**given).mode("append").save()


def test_every_column_is_in_the_record(
    spark: SparkSession, broker: BrokerProcess, client: streamlog.Client, topic: str
) -> None:
    client.admin.create_topic(topic, partitions=3)
    when = datetime(2026, 11, 1, 12, 30, tzinfo=UTC)
    rows = [
        (b"k", "text", [("a", b"1"), ("a", None)], 2, when),
        (None, None, None, 0, datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)),
        (b"", "", [], 1, when),
    ]
    schema = f"key binary, value string, headers {_HEADERS}, partition int, timestamp timestamp"
    write(spark.createDataFrame(rows, schema).coalesce(1), broker, topic=topic)
    log = client.topic(topic)
    found = [next(log.partition(number).read()) for number in range(3)]
    assert [message.key for message in found] == [None, b"", b"k"]
    assert [message.value for message in found] == [None, b"", b"text"]
    assert [tuple(message.headers) for message in found] == [(), (), (("a", b"1"), ("a", None))]
    millis = int(when.timestamp() * 1000)
    assert [message.timestamp_ms for message in found] == [-1, millis, millis]


def test_rows_go_where_their_topic_says_unless_the_option_does(
    spark: SparkSession, broker: BrokerProcess, client: streamlog.Client, topic: str
) -> None:
    names = [f"{topic}-{number}" for number in range(3)]
    for name in names:
        client.admin.create_topic(name)
    rows = [(names[number % 2], f"{number}") for number in range(100)]
    table = spark.createDataFrame(rows, "topic string, value string")
    write(table, broker, compression="zstd", partitioner="roundrobin")
    write(table, broker, topic=names[2])
    for number, name in enumerate(names[:2]):
        expected = [b"%d" % value for value in range(100) if value % 2 == number]
        assert counted(client, name) == Counter(expected)
    assert counted(client, names[2]) == Counter(b"%d" % value for value in range(100))


def test_keys_go_to_the_partitions_that_kafkas_clients_choose(
    spark: SparkSession, broker: BrokerProcess, client: streamlog.Client, topic: str
) -> None:
    client.admin.create_topic(topic, partitions=5)
    client.admin.create_topic(f"{topic}-own", partitions=5)
    table = spark.range(500).select(col("id").cast("string").alias("key"), lit("v").alias("value"))
    write(table, broker, topic=topic)
    with client.producer() as producer:
        producer.send_all(f"{topic}-own", range(500), key=str, value=str)
    for number in range(5):
        logs = (client.topic(name).partition(number) for name in (topic, f"{topic}-own"))
        found = [Counter(message.key for message in log.read()) for log in logs]
        assert found[0] == found[1]


def test_a_table_that_was_read_can_be_written_as_it_is(
    spark: SparkSession, broker: BrokerProcess, client: streamlog.Client, topic: str
) -> None:
    client.admin.create_topic(topic, partitions=2)
    client.admin.create_topic(f"{topic}-copy", partitions=2)
    with client.producer() as producer:
        producer.send_all(topic, range(1000), value=str)
    source = spark.read.format("streamlog").option("bootstrap", broker.address)
    write(source.option("subscribe", topic).load(), broker, topic=f"{topic}-copy")
    assert counted(client, f"{topic}-copy") == counted(client, topic)


BAD: list[tuple[dict[str, str], str, str]] = [
    ({"topick": "t"}, "value string", "option 'topick': unknown, did you mean 'topic'"),
    ({"topic": "t", "acks": "2"}, "value string", "option 'acks': invalid value '2'"),
    ({"topic": "t", "compression": "zip"}, "value string", "option 'compression'"),
    ({"topic": "t", "partitioner": "hash"}, "value string", "option 'partitioner'"),
    ({"topic": "t", "kafka.transactional.id": "x"}, "value string", "use 'exactlyOnce'"),
    ({"topic": "t", "exactlyOnce": "true"}, "value string", "for streams only"),
    ({"topic": "t", "exactlyOnce": "yes"}, "value string", "option 'exactlyOnce'"),
    ({}, "value string", "option 'topic': missing, and the table has no column 'topic'"),
    ({"topic": "t"}, "key string", "column 'value': missing"),
    ({"topic": "t"}, "value int", "column 'value': invalid type int: expected binary or string"),
    ({"topic": "t"}, "value string, partition long", "column 'partition': invalid type bigint"),
    ({"topic": "t"}, "value string, headers map<string, binary>", "column 'headers'"),
    ({"topic": "t"}, "value string, timestamp string", "column 'timestamp'"),
    ({"topic": "t"}, "value string, keys string", "column 'keys': unknown, did you mean 'key'"),
    ({"topic": "t"}, "value string, Value string", "column 'Value': given twice"),
]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad[2])
def test_columns_that_cannot_be_written_are_reported_at_planning(
    bad: tuple[dict[str, str], str, str],
    spark: SparkSession,
    broker: BrokerProcess,
    client: streamlog.Client,
) -> None:
    options, schema, told = bad
    before = client.admin.topics()
    table = spark.createDataFrame([], schema)
    with pytest.raises(PySparkException, match=told):
        write(table, broker, **options)
    assert client.admin.topics() == before


def test_overwriting_is_refused_by_name(
    spark: SparkSession, broker: BrokerProcess, client: streamlog.Client, topic: str
) -> None:
    client.admin.create_topic(topic)
    writer = spark.range(1).selectExpr("'v' value").write.format("streamlog")
    writer = writer.option("bootstrap", broker.address).option("topic", topic).mode("overwrite")
    with pytest.raises(PySparkException, match=r"only ever appended to; use mode\(.append.\)"):
        writer.save()


def test_exactly_once_is_refused_for_a_table(
    spark: SparkSession, broker: BrokerProcess, topic: str
) -> None:
    table = spark.range(1).selectExpr("'v' value")
    with pytest.raises(PySparkException, match="for streams only"):
        write(table, broker, topic=topic, exactlyOnce="true")


def test_exactly_once_asks_for_a_checkpoint() -> None:
    given = {"bootstrap": "127.0.0.1:1", "topic": "t", "exactlyOnce": "true"}
    with pytest.raises(ConfigError, match="option 'checkpointLocation': missing"):
        Settings.of(given, StructType().add("value", "string"), overwrite=False)


def test_rows_that_name_partitions_of_a_missing_topic_make_no_topic_of_fewer(
    spark: SparkSession, broker: BrokerProcess, client: streamlog.Client, topic: str
) -> None:
    table = spark.range(10).selectExpr("'v' value", "cast(id % 2 as int) partition")
    with pytest.raises(PySparkException, match=f"'{topic}'.*the rows name partitions"):
        write(table, broker, topic=topic)
    assert topic not in client.admin.topics()
    write(table.select("value"), broker, topic=topic)
    assert counted(client, topic) == Counter({b"v": 10})


def test_rows_that_name_topics_and_partitions_make_no_topic_of_fewer(
    spark: SparkSession, broker: BrokerProcess, client: streamlog.Client, topic: str
) -> None:
    def table(named: str) -> DataFrame:
        names = (f"'{named}' topic", "cast(id % 4 as int) partition", "cast(id as string) value")
        return spark.range(0, 4000, 1, 4).selectExpr(*names)

    with pytest.raises(PySparkException, match=f"'{topic}'.*the rows name partitions"):
        write(table(topic), broker)
    assert topic not in client.admin.topics()
    # Each write has a topic of its own: tasks of a write that has failed may go on for a moment.
    small, large = f"{topic}-small", f"{topic}-large"
    client.admin.create_topic(small, partitions=3)
    with pytest.raises(PySparkException, match=f"'{small}-3': there are 3, from 0 on"):
        write(table(small), broker)
    assert counted(client, small) == Counter()
    client.admin.create_topic(large, partitions=4)
    write(table(large), broker)
    assert counted(client, large) == Counter(b"%d" % number for number in range(4000))
    unnamed = f"'{topic}-new' topic", "cast(null as int) partition", "value"
    write(table(topic).selectExpr(*unnamed), broker)
    assert counted(client, f"{topic}-new").total() == 4000
