"""A broker that is away while topics are loaded, and comes back or does not."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from math import nan
from pathlib import Path

import pytest
from pyspark.errors import PythonException
from pyspark.sql import SparkSession

import streamlog
from py.support.broker import BrokerProcess, until
from spark.support.loads import publish, rows_of_files, rows_of_log
from spark.support.outages import AWAY_SECONDS, IMPATIENT, away
from streamlog.errors import ConfigError, RequestTimeout
from streamlog.spark import load

pytestmark = pytest.mark.timeout(300 + 2 * AWAY_SECONDS)

_PATIENCE = 100 + AWAY_SECONDS
_RECORDS = 3_000
_RANGES = 40


def test_a_load_continues_when_the_broker_is_back_and_one_that_begins_waits_for_it(
    spark: SparkSession, shaky: BrokerProcess, topic: str, tmp_path: Path
) -> None:
    lakes = [tmp_path / "lake", tmp_path / "other"]
    done = lakes[0] / "_streamlog" / "receipts" / "000001"
    begin = partial(load, spark, bootstrap=shaky.address, subscribe=topic, config=IMPATIENT)
    with streamlog.connect(shaky.address) as client, ThreadPoolExecutor(2) as loading:
        client.admin.create_topic(topic, partitions=2)
        publish(client, topic, _RECORDS, hours=0.001)
        loads = [loading.submit(begin, lakes[0], offsets_per_file=_RECORDS // _RANGES)]
        until(lambda: done.is_dir() and any(done.glob("*.json")), _PATIENCE)
        with away(shaky):
            assert len(list(done.glob("*.json"))) < _RANGES, "all of it was loaded before"
            loads.append(loading.submit(begin, lakes[1]))
        for one, lake in zip(loads, lakes, strict=True):
            assert one.result(_PATIENCE).records == _RECORDS
            assert rows_of_files(lake) == rows_of_log(client, [topic])
        publish(client, topic, 20)
        assert begin(lakes[0]).records == 20
        assert rows_of_files(lakes[0]) == rows_of_log(client, [topic])


def test_a_task_without_brokers_is_an_error_of_spark_and_the_next_load_finishes(
    spark: SparkSession, shaky: BrokerProcess, topic: str, tmp_path: Path
) -> None:
    done = tmp_path / "lake" / "_streamlog" / "receipts" / "000001"
    begin = partial(load, spark, tmp_path / "lake", bootstrap=shaky.address, subscribe=topic)
    with streamlog.connect(shaky.address) as client, ThreadPoolExecutor(1) as loading:
        client.admin.create_topic(topic, partitions=2)
        publish(client, topic, _RECORDS, hours=0.001)
        begin_soon = partial(begin, broker_timeout=1, config=IMPATIENT)
        first = loading.submit(begin_soon, offsets_per_file=_RECORDS // _RANGES)
        until(lambda: done.is_dir() and any(done.glob("*.json")), _PATIENCE)
        shaky.kill()
        with pytest.raises(PythonException, match=r"broker_timeout \(--broker-timeout\) sets"):
            first.result(_PATIENCE)
        shaky.start()
        assert begin().records == _RECORDS
        assert rows_of_files(tmp_path / "lake") == rows_of_log(client, [topic])


def test_a_load_waits_for_as_long_as_configured(
    spark: SparkSession, shaky: BrokerProcess, topic: str, tmp_path: Path
) -> None:
    begin = partial(load, spark, tmp_path / "lake", bootstrap=shaky.address, subscribe=topic)
    with pytest.raises(ConfigError, match="broker_timeout: invalid value -1"):
        begin(broker_timeout=-1)
    with pytest.raises(ConfigError, match="broker_timeout: invalid value nan"):
        begin(broker_timeout=nan)
    begin_soon = partial(begin, broker_timeout=1, config=IMPATIENT)
    with streamlog.connect(shaky.address) as client:
        client.admin.create_topic(topic)
    begin_soon()
    shaky.kill()
    with pytest.raises(RequestTimeout, match="no broker could be reached") as told:
        begin_soon()
    assert "away for 1 s, which broker_timeout (--broker-timeout) sets" in told.value.__notes__[0]
