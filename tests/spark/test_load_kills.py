"""A load killed at any point, without Spark: every point is tried."""

import random
from pathlib import Path

import pytest

import streamlog
from py.support.broker import BrokerProcess
from spark.support.loads import (
    assert_each_once,
    load_and_die,
    load_here,
    publish,
    rows_of_files,
    rows_of_log,
    start_forking,
)

SEED = 20261121
POINTS_AT_MOST = 400


def test_a_load_killed_at_any_change_of_a_file_brings_each_record_once(
    broker: BrokerProcess, client: streamlog.Client, topic: str, tmp_path: Path
) -> None:
    print(f"seed {SEED}")
    start_forking()
    choice = random.Random(SEED)
    client.admin.create_topic(topic, partitions=2)
    publish(client, topic, 40, hours=1.5)
    published = rows_of_log(client, [topic])
    for point in range(1, POINTS_AT_MOST):
        path = tmp_path / str(point)
        was_killed = load_and_die(broker.address, path, topic, point)
        seen = rows_of_files(path)
        assert_each_once(seen, published)
        # The load that finishes it is killed too, now and then.
        load_and_die(broker.address, path, topic, choice.randrange(1, 2 * point + 1))
        again = rows_of_files(path)
        assert_each_once(again, published)
        assert seen <= again, "what was seen is gone"
        load_here(broker.address, path, [topic])
        assert rows_of_files(path) == published, f"killed at {point}"
        if not was_killed:
            break
    else:
        pytest.fail(f"more than {POINTS_AT_MOST} points")
    assert point > 50
