"""A broker that is killed repeatedly under load keeps every guarantee.

`STREAMLOG_KILLS=n` sets the number of kills, `STREAMLOG_SEED=n` repeats the moments of a failed
run.
"""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

import streamlog
from py.support.broker import BrokerProcess
from py.support.ledger import Slot, faults
from py.support.load import ALL, IDEMPOTENT, ONE, Load, Reader, Sender

KILLS = int(os.environ.get("STREAMLOG_KILLS", "200"))

PARTITIONS = 3
TOPICS: dict[str, dict[str, str]] = {
    "flushed": {},
    "cached": {"write.caching": "true"},
}
SLOTS: list[Slot] = [(topic, partition) for topic in TOPICS for partition in range(PARTITIONS)]

LIFE_SECONDS = 0.5
"""The maximal time between a broker's ready line and its kill."""

START_PATIENCE = 120.0
"""A timeout in seconds; a slow start on a busy machine is not an error."""

WHILE_STARTING = 0.3
"""The number of kills before the broker is ready."""


def start(broker: BrokerProcess) -> float:
    """Starts the broker, and returns the duration."""
    begin = time.monotonic()
    broker.start(START_PATIENCE)
    return time.monotonic() - begin


def kill_often(broker: BrokerProcess, load: Load, choice: random.Random) -> int:
    """Kills a running broker `KILLS` times; at the end it runs.

    Returns the number of lives in which it acknowledged a record.
    """
    start_seconds = 0.2
    useful = before = 0
    for kill in range(KILLS):
        if kill > 0 and choice.random() < WHILE_STARTING:
            broker.launch()
            time.sleep(choice.uniform(0, 1.2 * start_seconds))
        else:
            if kill > 0:
                start_seconds = start(broker)
            time.sleep(choice.uniform(0, LIFE_SECONDS))
        broker.kill()
        load.check()
        useful += load.progress() > before
        before = load.progress()
    start(broker)
    return useful


@pytest.mark.timeout(60 + 2 * KILLS)
def test_kills_lose_no_acknowledged_record_and_withdraw_no_consumed_one(
    tmp_path: Path, store: tuple[str, ...]
) -> None:
    seed = int(os.environ.get("STREAMLOG_SEED", random.randrange(1 << 32)))
    # Small segments, so that kills coincide with rolls.
    options = ("--set", "log.segment.bytes=65536")
    with BrokerProcess(tmp_path / "data", *store, *options) as broker:
        try:
            live_through(broker, random.Random(seed))
        except BaseException as error:
            error.add_note(f"STREAMLOG_SEED={seed}, data kept in {broker.data_dir}")
            raise


def live_through(broker: BrokerProcess, choice: random.Random) -> None:
    """Kills the broker under load, and compares its log with the acknowledgements."""
    with streamlog.connect(broker.address) as client:
        for topic, config in TOPICS.items():
            client.admin.create_topic(topic, partitions=PARTITIONS, config=config)
    kinds = {"idempotent": IDEMPOTENT, "all": ALL, "one": ONE}
    load = Load(
        [Sender(name, broker.address, SLOTS, options) for name, options in kinds.items()],
        [Reader(name, broker.address, SLOTS) for name in ("reader", "other-reader")],
    )
    useful = kill_often(broker, load, choice)
    log = load.finish(broker.address)

    account = load.account()
    found = list(faults(log, account, load.witnesses()))
    assert found == [], f"{len(found)} faults"
    records = sum(map(len, log.values()))
    written = sum(sum(sent.counts.values()) for sent in account.values())
    again = records - written
    print(f"{KILLS} kills, {useful} under load, {records} records, {again} of them by retries")
    assert load.progress() == written
    assert useful >= KILLS / 4, "the broker was killed with nothing to do"
    assert broker.stop() == 0
    verify = [sys.executable, "-m", "streamlog", "log", "verify", str(broker.data_dir)]
    subprocess.run(verify, check=True, stdout=subprocess.DEVNULL)
