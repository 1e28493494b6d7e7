"""Drivers and executors of a load are killed, with executors as separate processes.

`STREAMLOG_SPARK_KILLS=100` sets the number of kills, `STREAMLOG_SEED=n` other points.
"""

import os
from pathlib import Path

import pytest

import streamlog
from py.support.broker import BrokerProcess
from spark.support.killing import Job, run_killed
from spark.support.loads import assert_each_once, publish, rows_of_files, rows_of_log

_KILLS = int(os.environ.get("STREAMLOG_SPARK_KILLS", "4"))
_SEED = int(os.environ.get("STREAMLOG_SEED", "12"))
_RECORDS = 3_000
_PER_FILE = 60


@pytest.mark.timeout(300 + 60 * _KILLS)
def test_a_load_whose_driver_and_executors_are_killed_brings_each_record_once(
    broker: BrokerProcess, client: streamlog.Client, topic: str, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    topics = [f"{topic}-a", f"{topic}-b"]
    for name in topics:
        client.admin.create_topic(name, partitions=3)

    def more() -> None:
        for name in topics:
            publish(client, name, _RECORDS // 2, hours=0.02)

    seen = 0

    def progress() -> int:
        nonlocal seen
        files = sum(1 for _ in lake.rglob("load-*.parquet"))
        if files >= seen + 10:
            # No row is ever duplicated, at any moment.
            seen = files
            assert_each_once(rows_of_files(lake), rows_of_log(client, topics))
        return files

    more()
    job = Job(
        module="spark.support.loading",
        arguments=[broker.address, f"{topic}-.*", str(lake), str(tmp_path), str(_PER_FILE)],
        log=tmp_path / "job.log",
        progress=progress,
        more=more,
    )
    kills = run_killed(job, _KILLS, _SEED)
    print(f"STREAMLOG_SEED={_SEED}: {kills}")
    assert len(kills.victims) == _KILLS
    assert rows_of_files(lake) == rows_of_log(client, topics), f"seed {_SEED}: {kills}"
