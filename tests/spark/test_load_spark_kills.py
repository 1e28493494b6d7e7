"""Drivers and executors of a load are killed, on executors that are processes of their own.

STREAMLOG_SPARK_KILLS says how often; a failure prints the seed.
"""

import os
import random
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path

import pytest

import streamlog
from py.support.broker import BrokerProcess
from spark.support.job import Job, Victim
from spark.support.loads import assert_each_once, publish, rows_of_files, rows_of_log

KILLS = int(os.environ.get("STREAMLOG_SPARK_KILLS", "6"))
SEED = int(os.environ.get("STREAMLOG_SPARK_SEED", "20261121"))
VICTIMS: tuple[Victim, ...] = ("executor", "driver", "worker", "executor", "jvm", "worker")
RECORDS = 1200
PROGRAM = Path(__file__).parent / "support" / "load_job.py"


@pytest.mark.timeout(90 + 20 * KILLS)
def test_a_load_whose_processes_are_killed_brings_each_record_once(
    broker: BrokerProcess, client: streamlog.Client, topic: str, tmp_path: Path
) -> None:
    print(f"seed {SEED}, {KILLS} kills")
    choice = random.Random(SEED)
    lake = tmp_path / "lake"
    topics = [f"{topic}-a", f"{topic}-b"]
    for name in topics:
        client.admin.create_topic(name, partitions=3)
    arguments = ("local-cluster[2,1,1024]", broker.address, f"{topic}-.*", str(lake))
    with ExitStack() as jobs:
        job: Job | None = None
        for number, victim in zip(range(KILLS), cycle(VICTIMS), strict=False):
            for name in topics:
                publish(client, name, RECORDS // 2, hours=0.08)
            if job is None:
                log = tmp_path / f"job-{number}.log"
                job = jobs.enter_context(Job(PROGRAM, *arguments, log=log))
            before = sum(1 for _ in signs(lake))
            job.tell()
            wait_for_signs(lake, before + choice.randrange(40), job)
            was_killed = job.kill(victim, choice.randrange(4))
            assert was_killed or victim == "worker", f"there was no {victim}"
            answer = job.answer()
            assert_each_once(rows_of_files(lake), rows_of_log(client, topics))
            if victim in ("driver", "jvm"):
                # Its executors may go on for a moment, beside those of the next.
                job = None
            else:
                assert answer.startswith("loaded "), job.told()
        if job is None:
            log = tmp_path / "last.log"
            job = jobs.enter_context(Job(PROGRAM, *arguments, log=log))
        job.tell()
        assert job.answer().startswith("loaded "), job.told()
        assert rows_of_files(lake) == rows_of_log(client, topics)


def signs(lake: Path) -> Iterator[Path]:
    """What a load leaves as it goes: its plan, its files, its receipts."""
    yield from lake.glob("topic=*/date=*/*.parquet")
    yield from lake.glob("_streamlog/receipts/*/*.json")
    yield from lake.glob("_streamlog/plans/*.json")


def wait_for_signs(lake: Path, count: int, job: Job) -> None:
    """Waits until there are so many, or no more are coming."""
    deadline = time.monotonic() + 30
    done = lake / "_streamlog" / "done"
    begun = len(list(done.glob("*.json")))
    while sum(1 for _ in signs(lake)) < count and len(list(done.glob("*.json"))) == begun:
        assert time.monotonic() < deadline, job.told()
        time.sleep(0.002)
