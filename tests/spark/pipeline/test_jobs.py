"""Files of jobs: accepted values, and faults with their line, key and nearest name."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from streamlog.errors import ConfigError
from streamlog.spark.pipeline.command import plan
from streamlog.spark.pipeline.job import Job
from streamlog.spark.pipeline.section import Page

FOLDER = Path("/data/jobs")

WHOLE = """
name = "orders"
bootstrap = "${HOST}:9092"
[stream]
trigger = "10 seconds"
checkpoint = "checkpoints"
[spark]
spark.sql.shuffle.partitions = 4
"spark.some.flag" = true
[source.orders]
topic = ["orders", "returns"]
start = "-1h"
group = "pipeline"
options = { maxOffsetsPerTrigger = 1000 }
decode = { format = "json", schema = "id BIGINT", dead_letters = "orders.dead" }
watermark = { delay = "10 minutes" }
[source.items]
files = "items.csv"
static = true
options = { header = true }
[source.names]
jdbc = "jdbc:postgresql://db/names?password=${PASSWORD}"
query = "SELECT '$${x}' AS x"
[step.flat]
sql = "SELECT value.*, timestamp FROM orders"
[step.unique]
from = "flat"
deduplicate = { by = "id" }
[step.priced]
from = "unique"
join = { with = "items", by = ["id"], how = "left" }
[step.counts]
from = "priced"
[step.counts.window]
length = "5 minutes"
by = ["id"]
aggregates = { n = "count(*)" }
[sink.out]
from = "counts"
topic = "counts"
encode = "json"
key = "id"
exactly_once = true
[sink.archive]
from = "flat"
files = "s3a://bucket/archive"
date = "timestamp"
"""
VARIABLES = {"HOST": "10.0.0.7", "PASSWORD": "p$w"}


def read(text: str, variables: Mapping[str, str] = VARIABLES) -> Job:
    """Returns the job of this text."""
    return Job.read(Page("job.toml", text, variables), FOLDER)


def faults_of(text: str) -> list[str]:
    """Returns the faults, line by line."""
    with pytest.raises(ConfigError) as caught:
        read(text)
    return str(caught.value).splitlines()


def test_a_whole_job_is_read() -> None:
    job = read(WHOLE)
    assert job.stream is not None
    assert (job.name, job.master, job.stream.trigger) == ("orders", "local[*]", "10 seconds")
    assert job.stream.checkpoint == "/data/jobs/checkpoints"
    assert job.spark == {"spark.sql.shuffle.partitions": "4", "spark.some.flag": "true"}
    orders, items, names = job.sources
    assert orders.options == {
        "bootstrap": "10.0.0.7:9092",
        "subscribe": "orders,returns",
        "startingTimestamp": "-1h",
        "group": "pipeline",
        "maxOffsetsPerTrigger": "1000",
    }
    assert [source.is_stream for source in job.sources] == [True, False, False]
    assert (items.what, items.format) == (("/data/jobs/items.csv",), "csv")
    assert names.options["url"].endswith("password=p$w")
    assert names.options["query"] == "SELECT '${x}' AS x"
    assert [step.inputs for step in job.steps] == [(), ("flat",), ("unique", "items"), ("priced",)]
    out, archive, letters = job.sinks
    assert out.options == {"bootstrap": "10.0.0.7:9092", "topic": "counts", "exactlyOnce": "true"}
    assert (archive.where, archive.folders) == ("s3a://bucket/archive", ("date",))
    assert (letters.name, letters.where, letters.view) == (
        "orders.dead_letters",
        "orders.dead",
        "orders",
    )


def test_every_fault_is_reported_with_its_line_its_key_and_the_nearest_name() -> None:
    assert faults_of("""\
nmae = "x"
[stream]
triger = "once"
[source.orders]
topics = "orders"
strat = "earliest"
decode = { format = "jsn", schemaa = "id INT" }
[step.a]
sql = "SELECT 1"
[step.b]
from = "orderz"
deduplicate = { by = [] }
[sink.out]
from = "c"
topic = 3
exactly_once = "yes"
""") == [
        "job.toml:1: nmae: unknown; did you mean 'name'?",
        "job.toml:2: stream: 'checkpoint' is missing",
        "job.toml:3: stream.triger: unknown; did you mean 'trigger'?",
        "job.toml:4: source.orders: one of 'topic', 'pattern', 'files', 'jdbc' is missing",
        "job.toml:5: source.orders.topics: unknown; did you mean 'topic'?",
        "job.toml:6: source.orders.strat: unknown; did you mean 'start'?",
        "job.toml:7: source.orders.decode.format: invalid value 'jsn': expected 'json', 'csv', "
        "'avro'; did you mean 'json'?",
        "job.toml:7: source.orders.decode.schemaa: unknown; did you mean 'schema'?",
        "job.toml:7: source.orders.decode: 'schema' is missing",
        "job.toml:10: step.b: no view before it is called 'orderz'; did you mean 'orders'?",
        "job.toml:12: step.b.deduplicate.by: expected a string, or a list of strings",
        "job.toml:14: sink.out.from: no view is called 'c'",
        "job.toml:15: sink.out.topic: expected a string that is not empty",
        "job.toml:16: sink.out.exactly_once: expected true or false",
    ]


MINIMAL = """
[source.a]
topic = "a"
[sink.b]
from = "a"
topic = "b"
"""


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "job.toml:1: sink: there is none"),
        ("a = ", "job.toml: it is no TOML: "),
        (MINIMAL + "key = 'x'", 'job.toml:7: sink.b.key: it goes with encode = "json"'),
        (MINIMAL + "exactly_once = true", "job.toml:7: sink.b.exactly_once: for streams only"),
        (MINIMAL + "output = 'update'", "job.toml:7: sink.b.output: only a stream has one"),
        (MINIMAL + "date = 'x'", "job.toml:7: sink.b.date: it is not for topic, which has "),
        (MINIMAL + "topc = 'x'", "job.toml:7: sink.b.topc: unknown; did you mean 'topic'?"),
        (MINIMAL.replace('"a"\n[', '"${NO}"\n['), "job.toml:3: source.a.topic: the environment ha"),
        (
            MINIMAL.replace(
                '"a"\n[', '"a"\nstart = "earliest"\noptions = { startingoffsets = "latest" }\n['
            ),
            "job.toml:5: source.a.options.startingoffsets: said by another key of the file already",
        ),
        (
            MINIMAL + 'options = { TOPIC = "other" }\n',
            "job.toml:7: sink.b.options.TOPIC: said by another key of the file already",
        ),
        (
            MINIMAL + 'options = { checkpointLocation = "here" }\n',
            "job.toml:7: sink.b.options.checkpointLocation: said by another key of the file alrea",
        ),
        (
            MINIMAL.replace('topic = "a"', 'pattern = ["a.*", "b"]'),
            "job.toml:3: source.a.pattern: expected one regular expression; `a|b` stands for sever",
        ),
        (
            MINIMAL.replace('topic = "a"', 'pattern = "*.orders"'),
            "job.toml:3: source.a.pattern: '*.orders' is no regular expression: nothing to repeat",
        ),
        (
            MINIMAL + 'options = { "kafka.linger.mss" = 5 }\n',
            "job.toml:7: sink.b.options.kafka.linger.mss: linger.mss: unknown setting; did you mea",
        ),
        (
            MINIMAL.replace('"a"\n[', '"a"\noptions.kafka.fetch.max.bytes = "x"\n['),
            "job.toml:4: source.a.options.kafka.fetch.max.bytes: fetch.max.bytes: invalid value",
        ),
        (
            MINIMAL.replace('"a"\n[', '"a"\noptions = { "kafka.group.id" = "g" }\n['),
            "job.toml:4: source.a.options.kafka.group.id: option 'kafka.group.id': not taken, name",
        ),
        (MINIMAL + "files = 'x'", "job.toml:4: sink.b: it has topic and files, expected only on"),
        ("[source]\na = 1\n" + MINIMAL[MINIMAL.index("[sink") :], "job.toml:2: source.a: expecte"),
        (MINIMAL + "[step.a]\nsql = 'SELECT 1'", "job.toml:7: step.a: a view of this name is the"),
        (
            MINIMAL.replace("a]", "Orders]").replace('from = "a"', 'from = "Orders"')
            + "[step.orders]\nsql = 'SELECT 1'",
            "job.toml:7: step.orders: SQL takes it for 'Orders', a view that is there already",
        ),
        (
            MINIMAL + "[sink.B]\nfrom = 'a'\ntopic = 'c'",
            "job.toml:7: sink.B: its checkpoint may be that of 'b', a sink that is there already",
        ),
        (
            MINIMAL.replace("sink.b", "sink.'a.dead_letters'").replace(
                '"a"\n[',
                '"a"\ndecode = { format = "json", schema = "i INT", dead_letters = "d" }\n[',
            ),
            "job.toml:5: sink.a.dead_letters: the sink of dead letters has this name",
        ),
        (
            MINIMAL + "[step.c]\nfrom = 'a'\njoin = { with = 'a', by = 'key', how = 'full' }",
            "job.toml:9: step.c.join.how: 'full' is for two streams, which need 'within'; expect",
        ),
        (
            MINIMAL + "[step.c]\nfrom = 'a'\njoin = { with = 'a', by = 'key', how = 'right' }",
            "job.toml:9: step.c.join.how: 'right' is for two streams, which need 'within'; expec",
        ),
        (MINIMAL + "[step.a-b]\nsql = 'SELECT 1'", "job.toml:7: step.a-b: expected a name of let"),
        (MINIMAL + "[step.c]\nfrom = 'a'\nsql = 'x'", "job.toml:8: step.c.from: SQL names its vi"),
        (
            MINIMAL + "[step.c]\nfrom = 'a'\nwindow = { gap = '1 s', slide = '1 s' }",
            "job.toml:9: step.c.window: 'aggregates' is missing",
        ),
        (
            "stream = { checkpoint = 'c', trigger = 'onec' }" + MINIMAL,
            "job.toml:1: stream.trigger: invalid value 'onec': expected 'once', 'available-now' or",
        ),
        (
            "stream.checkpoint = 'c'\n[source.f]\nfiles = 'x.json'\n" + MINIMAL,
            "job.toml:2: source.f: 'schema' is missing: a stream of files does not guess it",
        ),
    ],
)
def test_a_fault_is_found(text: str, fault: str) -> None:
    assert any(found.startswith(fault) for found in faults_of(text)), faults_of(text)


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml: it cannot be read: No such file"):
        Job.of(tmp_path / "none.toml")


def test_a_plan_shows_what_would_run_in_order() -> None:
    kinds = [line.split()[:2] for line in plan(read(WHOLE)).splitlines()]
    assert kinds == [
        ["KIND", "NAME"],
        ["job", "orders"],
        *(["source", name] for name in ("orders", "items", "names")),
        *(["step", name] for name in ("flat", "unique", "priced", "counts")),
        *(["sink", name] for name in ("out", "archive", "orders.dead_letters")),
    ]
    assert "JDBC jdbc:postgresql://db/names?password=${PASSWORD}" in plan(read(WHOLE))
    assert "every 10 seconds; checkpoint /data/jobs/checkpoints" in plan(read(WHOLE))


def test_a_plan_shows_the_names_of_variables_where_secrets_may_stand() -> None:
    secret = plan(
        read(
            """
[stream]
checkpoint = "s3a://${PASSWORD}@bucket/checkpoints"
[source.a]
topic = "a"
[source.b]
jdbc = "jdbc:derby:b;password=${PASSWORD}"
table = "(SELECT '${PASSWORD}')"
[source.c]
files = ["/c/${PASSWORD}.csv", "/d/${PASSWORD}.csv"]
static = true
[step.d]
sql = "SELECT encrypt(value, '${PASSWORD}') AS value, timestamp FROM a"
[step.e]
from = "d"
window = { length = "1 hour", by = ["f('${PASSWORD}')"], aggregates = { n = "f('${PASSWORD}')" } }
[sink.f]
from = "e"
jdbc = "jdbc:derby:f;password=${PASSWORD}"
table = "f_${PASSWORD}"
[sink.g]
from = "d"
files = "g/${PASSWORD}"
"""
        )
    )
    assert VARIABLES["PASSWORD"] not in secret
    assert secret.count("${PASSWORD}") == 10
