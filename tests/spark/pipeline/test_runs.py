"""Running jobs, with topics, files and a database as sources and sinks."""

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from threading import Event

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import streamlog
from py.support.broker import BrokerProcess
from spark.connector.tables import digest, values_in
from streamlog.errors import ConfigError, ConnectError, TopicNotFound
from streamlog.spark.pipeline import session
from streamlog.spark.pipeline.command import run
from streamlog.spark.pipeline.job import Job
from streamlog.spark.pipeline.run import Run
from streamlog.spark.pipeline.section import Page
from streamlog.spark.pipeline.source import Source
from streamlog.spark.pipeline.topics import check_options, check_topics

_numbers = count()

Execute = Callable[[str], list[str]]


@pytest.fixture
def job_of(broker: BrokerProcess, tmp_path: Path) -> Callable[[str], Job]:
    """Parses a job's text, with `${BROKER}` for the address."""

    def read(text: str) -> Job:
        page = Page("job.toml", f'bootstrap = "{broker.address}"\n{text}', {})
        return Job.read(page, tmp_path, f"job{next(_numbers)}")

    return read


@pytest.fixture
def execute(spark: SparkSession, job_of: Callable[[str], Job], tmp_path: Path) -> Execute:
    """Runs a job's text to its end, and returns its output."""
    assert spark._jvm is not None
    # By default, the database writes its log to the working directory.
    spark._jvm.java.lang.System.setProperty("derby.stream.error.file", str(tmp_path / "derby.log"))

    def run(text: str) -> list[str]:
        told: list[str] = []
        job = job_of(text)
        check_topics(job)
        assert Run(job, spark, tell=told.append).go()
        return told

    return run


def publish(client: streamlog.Client, topic: str, values: list[bytes]) -> None:
    """Publishes the values, each with its number as key."""
    with client.producer() as producer:
        for number, value in enumerate(values):
            time = 1_793_520_000_000 + 1000 * number
            producer.send(topic, value, key=b"%d" % number, timestamp=time)


def orders(begin: int, end: int) -> list[bytes]:
    """Publishes orders, every tenth of which is broken."""
    return [
        b"broken %d" % n if n % 10 == 9 else json.dumps({"id": n, "item": f"i{n % 3}"}).encode()
        for n in range(begin, end)
    ]


def rows_out(told: list[str]) -> dict[str, int]:
    """Returns the number of rows that each sink has written, over all batches."""
    found: dict[str, int] = {}
    for line in told:
        name, _, rest = line.partition(": ")
        words = rest.replace(",", "").split()
        rows = int(words[0]) if words[1] == "rows" else int(words[words.index("out") - 1])
        found[name] = found.get(name, 0) + rows
    return found


TABLES = """
[source.orders]
topic = "{topic}"
decode = {{ schema = "id BIGINT NOT NULL, item STRING", dead_letters = "{topic}.dead" }}
[source.items]
files = "items.csv"
options = {{ header = true, inferSchema = true }}
[step.flat]
sql = "SELECT value.id, value.item, timestamp FROM orders"
[step.unique]
from = "flat"
deduplicate = {{ by = "id" }}
[step.priced]
from = "unique"
join = {{ with = "items", by = "item", how = "left" }}
[step.counts]
from = "priced"
window.length = "5 minutes"
window.by = "item"
window.aggregates = {{ n = "count(*)", paid = "sum(price)" }}
[sink.topic]
from = "priced"
topic = "{topic}.out"
encode = "json"
key = "id"
[sink.files]
from = "priced"
files = "archive"
date = "timestamp"
by = "item"
[sink.database]
from = "counts"
jdbc = "jdbc:derby:memory:{topic};create=true"
table = "counts"
"""


def test_a_table_goes_through_every_kind_of_step_and_sink(
    spark: SparkSession, client: streamlog.Client, topic: str, tmp_path: Path, execute: Execute
) -> None:
    for name in (topic, topic + ".dead", topic + ".out"):
        client.admin.create_topic(name, partitions=2)
    values = orders(0, 600)
    publish(client, topic, values)
    publish(client, topic, values[:100])
    (tmp_path / "items.csv").write_text("item,price\ni0,2.5\ni1,1.0\n")
    told = execute(TABLES.format(topic=topic))
    assert rows_out(told) == {
        "topic": 540,
        "files": 540,
        "database": 6,
        "orders.dead_letters": 70,
    }
    wanted = [n for n in range(600) if n % 10 != 9]
    out = list(client.topic(topic + ".out").read())
    assert sorted(json.loads(m.value or b"")["id"] for m in out) == wanted
    assert all(m.key == str(json.loads(m.value or b"")["id"]).encode() for m in out)
    dead = [value for value in values + values[:100] if value.startswith(b"broken")]
    assert digest(values_in(client, topic + ".dead")) == digest(dead)
    archive = spark.read.parquet(str(tmp_path / "archive"))
    assert sorted(row.id for row in archive.select("id").collect()) == wanted
    assert {path.name for path in (tmp_path / "archive").glob("date=*")} == {"date=2026-11-01"}
    reader = spark.read.format("jdbc").option("url", f"jdbc:derby:memory:{topic}")
    counts = reader.option("dbtable", "counts").load()
    assert sum(row.n for row in counts.collect()) == 540
    told = execute(f"""
[source.counts]
jdbc = "jdbc:derby:memory:{topic}"
query = 'SELECT SUM("n") AS "total" FROM counts'
[sink.files]
from = "counts"
files = "counts.json"
format = "json"
mode = "overwrite"
""")
    assert rows_out(told) == {"files": 1}
    assert [row.total for row in spark.read.json(str(tmp_path / "counts.json")).collect()] == [540]


STREAM = """
[stream]
trigger = "available-now"
checkpoint = "checkpoints"
[source.orders]
topic = "{topic}"
start = "earliest"
options = {{ maxOffsetsPerTrigger = 300 }}
decode = {{ schema = "id BIGINT NOT NULL, item STRING", dead_letters = "{topic}.dead" }}
[step.flat]
sql = "SELECT value.id, value.item, timestamp FROM orders"
[sink.copy]
from = "flat"
topic = "{topic}.out"
encode = "json"
exactly_once = true
[sink.files]
from = "flat"
files = "archive"
date = "timestamp"
[sink.database]
from = "flat"
jdbc = "jdbc:derby:memory:{topic};create=true"
table = "orders"
"""


def test_a_stream_resumes_where_it_was_and_loses_and_doubles_nothing(
    spark: SparkSession, client: streamlog.Client, topic: str, tmp_path: Path, execute: Execute
) -> None:
    for name in (topic, topic + ".dead", topic + ".out"):
        client.admin.create_topic(name, partitions=2)
    for begin, end in ((0, 500), (500, 800)):
        publish(client, topic, orders(begin, end))
        told = execute(STREAM.format(topic=topic))
        broken = (end - begin) // 10
        sound = end - begin - broken
        assert rows_out(told) == {
            "copy": sound,
            "files": sound,
            "database": sound,
            "orders.dead_letters": broken,
        }
        assert told[-1].endswith(f"; lag {topic} 0")
    wanted = [n for n in range(800) if n % 10 != 9]
    copied = values_in(client, topic + ".out")
    assert sorted(json.loads(value)["id"] for value in copied) == wanted
    dead = [value for value in orders(0, 800) if value.startswith(b"broken")]
    assert digest(values_in(client, topic + ".dead")) == digest(dead)
    archive = spark.read.parquet(str(tmp_path / "archive"))
    assert sorted(row.id for row in archive.select("id").collect()) == wanted
    reader = spark.read.format("jdbc").option("url", f"jdbc:derby:memory:{topic}")
    table = reader.option("dbtable", "orders").load()
    assert sorted(row.id for row in table.select("id").collect()) == wanted


def test_each_of_several_sinks_has_a_group_that_says_how_far_it_is(
    client: streamlog.Client, topic: str, execute: Execute
) -> None:
    for name in (topic, topic + ".dead", topic + ".out"):
        client.admin.create_topic(name, partitions=1)
    text = STREAM.format(topic=topic).replace(
        "[source.orders]", f"[source.orders]\ngroup = '{topic}'"
    )
    publish(client, topic, orders(0, 100))
    execute(text)
    names = ("copy", "files", "database", "orders.dead_letters")
    groups = {name: client.admin.group(f"{topic}.{name}") for name in names}
    assert [group.lag() for group in groups.values()] == [{(topic, 0): 0}] * len(names)
    publish(client, topic, orders(100, 150))
    with pytest.raises(PySparkException):
        execute(text.replace("jdbc:derby:memory:", "jdbc:nowhere:"))
    assert groups["database"].lag() == {(topic, 0): 50}
    assert topic not in client.admin.groups()


ARRIVING = """
[stream]
trigger = "available-now"
checkpoint = "checkpoints"
[source.all]
pattern = "{topic}-in-[0-9]+"
start = "earliest"
[source.dropped]
files = "inbox"
format = "json"
schema = "value STRING"
[step.both]
sql = "SELECT value FROM all UNION ALL SELECT CAST(value AS BINARY) FROM dropped"
[sink.out]
from = "both"
topic = "{topic}.out"
exactly_once = true
"""


def test_topics_of_a_pattern_and_files_of_a_folder_are_streams_that_grow(
    client: streamlog.Client, topic: str, tmp_path: Path, execute: Execute
) -> None:
    for name in (f"{topic}-in-x", f"{topic}.out"):
        client.admin.create_topic(name, partitions=1)
    publish(client, f"{topic}-in-x", [b"of no interest"])
    wanted: list[bytes] = []
    (tmp_path / "inbox").mkdir()
    for number in range(2):
        client.admin.create_topic(f"{topic}-in-{number}", partitions=2)
        values = [b"topic %d %d" % (number, n) for n in range(100)]
        publish(client, f"{topic}-in-{number}", values)
        lines = [f"file {number} {n}" for n in range(50)]
        written = "".join(json.dumps({"value": line}) + "\n" for line in lines)
        (tmp_path / "inbox" / f"{number}.json").write_text(written)
        wanted += [*values, *(line.encode() for line in lines)]
        told = execute(ARRIVING.format(topic=topic))
        assert rows_out(told) == {"out": 150}, told
        behind = [f"{topic}-in-{n} 0" for n in range(number + 1)]
        assert told[-1].endswith(f"; lag {', '.join(behind)}"), told
    assert digest(values_in(client, f"{topic}.out")) == digest(wanted)


def test_streams_are_joined_and_folded_by_a_job(
    client: streamlog.Client, topic: str, execute: Execute
) -> None:
    for name in (topic, topic + ".paid", topic + ".out"):
        client.admin.create_topic(name, partitions=1)
    publish(client, topic, [json.dumps({"id": n}).encode() for n in range(100)])
    publish(client, topic + ".paid", [json.dumps({"id": n}).encode() for n in range(0, 100, 2)])
    told = execute(f"""
stream = {{ trigger = "once", checkpoint = "checkpoints" }}
[source.orders]
topic = "{topic}"
start = "earliest"
decode.schema = "id BIGINT"
[source.payments]
topic = "{topic}.paid"
start = "earliest"
decode.schema = "id BIGINT"
[step.ordered]
sql = "SELECT value.id, timestamp FROM orders"
[step.paid]
sql = "SELECT value.id, timestamp FROM payments"
[step.both]
from = "ordered"
join = {{ with = "paid", by = "id", within = "1 hour" }}
[sink.out]
from = "both"
topic = "{topic}.out"
encode = "json"
""")
    assert rows_out(told) == {"out": 50}
    found = [json.loads(value)["id"] for value in values_in(client, topic + ".out")]
    assert sorted(found) == list(range(0, 100, 2))


LATE = """
[stream]
trigger = "available-now"
checkpoint = "checkpoints"
[source.a]
topic = "{topic}"
start = "earliest"
options = {{ maxOffsetsPerTrigger = 10 }}
watermark = {{ delay = "1 minute" }}
[step.unique]
from = "a"
deduplicate = {{ by = "key" }}
[step.counts]
from = "a"
window = {{ length = "1 minute", aggregates = {{ n = "count(*)" }} }}
[sink.unique]
from = "unique"
files = "unique"
[sink.counts]
from = "counts"
files = "counts"
"""


def test_rows_that_come_too_late_are_counted_in_the_line_of_their_trigger(
    client: streamlog.Client, topic: str, execute: Execute
) -> None:
    client.admin.create_topic(topic, partitions=1)
    hour, minute = 3_600_000, 60_000
    # A watermark takes effect two triggers later.
    times = [hour] * 27 + [minute, minute, 2 * minute]
    with client.producer() as producer:
        for number, moment in enumerate(times):
            producer.send(topic, b"", key=b"%d" % number, timestamp=1_793_520_000_000 + moment)
    told = execute(LATE.format(topic=topic))
    # Sorted, because both sinks run at the same time.
    late = sorted(line for line in told if " late" in line)
    assert [line.split(",")[0] for line in late] == ["counts: batch 2", "unique: batch 2"], told
    # Spark counts the rows at the window operator, after rows of one window were combined.
    assert "10 rows in, 0 out, 2 late" in late[0], told
    assert "10 rows in, 7 out, 3 late" in late[1], told


def test_without_a_dead_letter_topic_a_broken_record_ends_the_job(
    client: streamlog.Client, topic: str, execute: Execute
) -> None:
    client.admin.create_topic(topic, partitions=1)
    publish(client, topic, orders(0, 10))
    with pytest.raises(PySparkException, match=f"does not decode.*topic {topic}.*offset 9"):
        execute(f"""
[source.orders]
topic = "{topic}"
decode.schema = "id BIGINT, item STRING"
[sink.files]
from = "orders"
files = "archive"
""")


def test_a_window_without_a_watermark_ends_the_streams_that_started_before(
    spark: SparkSession, client: streamlog.Client, topic: str, job_of: Callable[[str], Job]
) -> None:
    client.admin.create_topic(topic, partitions=1)
    text = (
        STREAM.format(topic=topic)
        + """
[step.counts]
from = "flat"
window = { length = "1 minute", aggregates = { n = "count(*)" } }
[sink.counts]
from = "counts"
files = "counts"
"""
    )
    with pytest.raises(ConfigError, match=r"job\.toml:\d+: sink\.counts: .*watermark"):
        Run(job_of(text), spark, tell=print).go()
    assert spark.streams.active == []


def test_the_options_of_a_job_are_checked_once(
    spark: SparkSession,
    job_of: Callable[[str], Job],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "numbers.txt").write_text("1\n")
    checked: list[str] = []
    monkeypatch.setattr(Source, "check_options", lambda source: checked.append(source.name))
    monkeypatch.setattr(session, "open_session", lambda *_, **__: spark)
    monkeypatch.setattr(spark, "stop", lambda: None)
    job = job_of("""
[source.numbers]
files = "numbers.txt"
[sink.files]
from = "numbers"
files = "out"
""")
    assert run(job) == 0
    assert checked == ["numbers"]


def test_a_stopped_job_ends_what_it_does(
    spark: SparkSession, job_of: Callable[[str], Job], tmp_path: Path
) -> None:
    (tmp_path / "one.txt").write_text("1\n")
    job = job_of("""
[source.one]
files = "one.txt"
[step.slow]
sql = "SELECT value FROM range(1000000) a, range(1000000) b, one WHERE a.id * b.id % 7 = 9"
[sink.files]
from = "slow"
files = "out"
""")
    is_at_work = Event()

    def is_stopped() -> bool:
        """Returns true once Spark works on the job."""
        if spark.sparkContext.statusTracker().getActiveJobsIds():
            is_at_work.set()
        return is_at_work.is_set()

    assert not Run(job, spark, tell=print, is_stopped=is_stopped).go()
    assert is_at_work.is_set()
    assert not (tmp_path / "out" / "_SUCCESS").exists()


@pytest.mark.parametrize(
    "case",
    [
        (("SELECT value.id", "SELECT value.idd"), r"job\.toml:\d+: step\.flat: .*idd"),
        (("FROM orders", "FROM orderz"), r"job\.toml:\d+: step\.flat: .*orderz"),
        (("id BIGINT NOT", "id BIGINTT NOT"), r"job\.toml:\d+: source\.orders: schema: .*BIGINTT"),
        (('encode = "json"', ""), r"job\.toml:\d+: sink\.copy: 'flat' has no column 'value'"),
        (('date = "timestamp"', 'by = "day"'), r"job\.toml:\d+: sink\.files: by: .*day"),
        (("[sink.copy]", "[source.s]\nfiles='.'\nformat='text'\nstatic=true\n[sink.s]\nfrom='s'\n"
          "files='t'\n[sink.copy]"), r"job\.toml:\d+: sink\.s: its rows are no stream"),
        (("maxOffsetsPerTrigger", "maxOffsetsPerTriger"),
         r"job\.toml:\d+: source\.orders: option .*unknown, did you mean 'maxOffsetsPerTrigger'"),
        (('start = "earliest"', 'start = "soon"'),
         r"job\.toml:\d+: source\.orders: option 'startingTimestamp': invalid value 'soon'"),
        (('encode = "json"', 'encode = "json"\noptions = { compresion = "lz4" }'),
         r"job\.toml:\d+: sink\.copy: option 'compresion': unknown, did you mean 'compression'"),
        (('encode = "json"', 'encode = "json"\noutput = "complete"'),
         r"job\.toml:\d+: sink\.copy: .*a topic is only ever appended to"),
    ],
)  # fmt: skip
def test_an_error_of_spark_is_reported_with_its_line_and_nothing_starts(
    spark: SparkSession,
    topic: str,
    tmp_path: Path,
    job_of: Callable[[str], Job],
    case: tuple[tuple[str, str], str],
) -> None:
    change, fault = case
    text = STREAM.format(topic=topic)
    assert change[0] in text
    job = job_of(text.replace(*change))

    def check_and_run() -> None:
        check_options(job)
        Run(job, spark, tell=print).go()

    with pytest.raises(ConfigError, match=fault):
        check_and_run()
    assert spark.streams.active == []
    assert list(tmp_path.iterdir()) == []


def test_a_missing_cluster_or_topic_is_reported_before_spark_starts(
    broker: BrokerProcess, job_of: Callable[[str], Job], topic: str
) -> None:
    text = f"[source.a]\ntopic = '{topic}'\n[sink.b]\nfrom = 'a'\ntopic = 'b'\n"
    with pytest.raises(TopicNotFound, match=topic):
        check_topics(job_of(text))
    with pytest.raises(ConnectError):
        check_topics(job_of(text + "bootstrap = '127.0.0.1:1'\n"))
