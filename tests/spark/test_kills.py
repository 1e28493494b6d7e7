"""Drivers and executors of real processes are killed; the copy of a topic equals the topic.

`STREAMLOG_SPARK_KILLS=100` sets the number of kills, `STREAMLOG_SEED=n` other points.
"""

import os
from itertools import count
from pathlib import Path

import pytest

import streamlog
from py.support.broker import BrokerProcess
from spark.sink.query import counted, counted_by_confluent
from spark.support.killing import Job, run_killed

_KILLS = int(os.environ.get("STREAMLOG_SPARK_KILLS", "4"))
_SEED = int(os.environ.get("STREAMLOG_SEED", "3"))
_RECORDS = 6_000
_PER_BATCH = 500


@pytest.mark.timeout(300 + 60 * _KILLS)
@pytest.mark.parametrize("copiers", ["driver", "executors"])
def test_a_copy_whose_driver_and_executors_are_killed_has_every_record_once(
    copiers: str, broker: BrokerProcess, client: streamlog.Client, topic: str, tmp_path: Path
) -> None:
    kills = _KILLS if copiers == "driver" else (_KILLS + 1) // 2
    source, target = f"{topic}-in", f"{topic}-out"
    for name in (source, target):
        client.admin.create_topic(name, partitions=3)
    runs = count()

    def more() -> None:
        run = next(runs)
        with client.producer() as producer:
            numbers = range(run * _RECORDS, (run + 1) * _RECORDS)
            producer.send_all(source, numbers, key=str, value=lambda number: f"value {number}")

    def progress() -> int:
        # Spark keeps only the newest commits.
        commits = (tmp_path / "checkpoint" / "commits").glob("*")
        return max((int(path.name) for path in commits if path.name.isdigit()), default=-1)

    more()
    job = Job(
        module="spark.support.copying",
        arguments=[str(tmp_path), broker.address, source, target, str(_PER_BATCH), copiers],
        log=tmp_path / "job.log",
        progress=progress,
        more=more,
    )
    done = run_killed(job, kills, _SEED)
    print(f"STREAMLOG_SEED={_SEED}: {done}")
    expected = counted(client, source)
    assert expected.total() == next(runs) * _RECORDS
    assert len(done.victims) == kills
    assert counted(client, target) == expected, f"seed {_SEED}: {done}"
    assert counted_by_confluent(broker.address, target) == expected, f"seed {_SEED}: {done}"
