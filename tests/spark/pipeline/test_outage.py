"""A job continues when one of its brokers is away between two triggers."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import streamlog
from py.support.broker import BrokerProcess, until
from spark.sink.query import counted
from spark.support.outages import AWAY_SECONDS, IMPATIENT, away
from streamlog.spark.pipeline.job import Job
from streamlog.spark.pipeline.run import Run
from streamlog.spark.pipeline.section import Page
from streamlog.spark.pipeline.topics import check_topics

pytestmark = pytest.mark.timeout(300 + 2 * AWAY_SECONDS)

_PATIENCE = 100 + AWAY_SECONDS
_OPTIONS = ", ".join(f'"kafka.{name}" = {value}' for name, value in IMPATIENT.items())
_JOB = """
[stream]
trigger = "1 second"
checkpoint = "checkpoints"
[source.here]
bootstrap = "{here}"
topic = "{topic}"
start = "earliest"
[source.there]
bootstrap = "{there}"
topic = "in"
start = "earliest"
group = "{topic}"
options = {{ {options} }}
[sink.out]
from = "here"
bootstrap = "{there}"
topic = "out"
exactly_once = true
options = {{ {options} }}
[sink.back]
from = "there"
bootstrap = "{here}"
topic = "{topic}.back"
"""


def _publish(client: streamlog.Client, topic: str, begin: int, end: int) -> None:
    with client.producer() as producer:
        producer.send_all(topic, range(begin, end), key=str, value=str)


def test_triggers_that_start_while_a_broker_is_unreachable_continue_when_it_is_back(
    spark: SparkSession,
    broker: BrokerProcess,
    shaky: BrokerProcess,
    topic: str,
    tmp_path: Path,
) -> None:
    text = _JOB.format(here=broker.address, there=shaky.address, topic=topic, options=_OPTIONS)
    job = Job.read(Page("job.toml", text, {}), tmp_path, "outage")
    out = tmp_path / "checkpoints" / "out"
    with (
        streamlog.connect(broker.address) as here,
        streamlog.connect(shaky.address) as there,
        ThreadPoolExecutor(1) as beside,
    ):
        ways = [(here, topic, there, "out"), (there, "in", here, f"{topic}.back")]
        for of, source, to, target in ways:
            for owner, name in ((of, source), (to, target)):
                owner.admin.create_topic(name, partitions=2)
            _publish(of, source, 0, 100)

        def is_copied() -> bool:
            return all(_size(to, target) == _size(of, source) for of, source, to, target in ways)

        def is_committed() -> bool:
            group = f"{topic}.back"
            admin = there.admin
            return group in admin.groups() and sum(admin.group(group).lag().values()) == 0

        def outage() -> None:
            until(is_copied, _PATIENCE)
            # Otherwise the next trigger may start only after the broker is back.
            until((out / "commits" / "0").exists, _PATIENCE)
            with away(shaky):
                _publish(here, topic, 100, 200)
                until((out / "offsets" / "1").exists, _PATIENCE)
            _publish(there, "in", 100, 200)
            until(is_copied, _PATIENCE)
            # The progress is committed again too.
            until(is_committed, _PATIENCE)

        check_topics(job)
        ended = beside.submit(outage)
        # A query has to start on the thread that owns the session.
        assert not Run(job, spark, tell=print, is_stopped=ended.done).go()
        ended.result()
        for of, source, to, target in ways:
            assert counted(of, source).total() == 200
            assert counted(to, target) == counted(of, source)


def _size(client: streamlog.Client, topic: str) -> int:
    return sum(end or 0 for end in client.admin.end_offsets(topic).values())
