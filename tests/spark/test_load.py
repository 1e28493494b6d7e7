"""Topics as Parquet files, on the shared session."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

import streamlog
from py.support.broker import BrokerProcess, until
from spark.support.loads import (
    in_turn,
    load_here,
    peak_of_a_load,
    publish,
    rows_of_files,
    rows_of_log,
    start_forking,
)
from streamlog.spark import load, loaded
from streamlog.spark.offline.job import Job, Outcome
from streamlog.spark.offline.ledger import Ledger
from streamlog.spark.offline.loading import Loading
from streamlog.spark.offline.planning import Choice
from streamlog.spark.offline.writing import write_range
from streamlog.spark.options import Connection


def test_loads_bring_each_record_once_with_its_offset(
    spark: SparkSession,
    broker: BrokerProcess,
    client: streamlog.Client,
    topic: str,
    tmp_path: Path,
) -> None:
    others = f"{topic}-others"
    client.admin.create_topic(topic, partitions=3)
    client.admin.create_topic(others, partitions=1)
    publish(client, topic, 300, hours=0.25)
    publish(client, others, 50)
    first = load(
        spark,
        tmp_path / "lake",
        bootstrap=broker.address,
        subscribe_pattern=f"{topic}.*",
        offsets_per_file=40,
    )
    assert first.topics == {topic: 300, others: 50}
    assert rows_of_files(tmp_path / "lake") == rows_of_log(client, [topic, others])
    publish(client, topic, 20)
    second = load(spark, tmp_path / "lake", bootstrap=broker.address, subscribe=topic)
    assert (second.records, second.topics) == (20, {topic: 20})
    third = load(spark, tmp_path / "lake", bootstrap=broker.address, subscribe=[topic, others])
    assert (third.records, third.files) == (0, 0)
    assert rows_of_files(tmp_path / "lake") == rows_of_log(client, [topic, others])
    plain = spark.read.parquet(str(tmp_path / "lake"))
    assert plain.count() == 370
    assert plain.where("date <> to_date(timestamp)").count() == 0
    ours = loaded(spark, tmp_path / "lake", topic)
    assert ours.groupBy().max("offset").first() == (106,)
    assert ours.count() == 320


def test_a_table_of_finished_loads_has_nothing_of_one_at_work(
    spark: SparkSession,
    broker: BrokerProcess,
    client: streamlog.Client,
    topic: str,
    tmp_path: Path,
) -> None:
    client.admin.create_topic(topic)
    # All records are of one day, so the load creates one file.
    publish(client, topic, 10, hours=0)
    with pytest.raises(streamlog.ConfigError, match="no load has made"):
        loaded(spark, tmp_path / "lake")
    load_here(broker.address, tmp_path / "lake", [topic])
    done = tmp_path / "lake" / "_streamlog" / "done" / "000001.json"
    assert loaded(spark, tmp_path / "lake").count() == 10
    done.unlink()
    assert loaded(spark, tmp_path / "lake").count() == 0
    assert load_here(broker.address, tmp_path / "lake", [topic]).records == 10
    assert loaded(spark, tmp_path / "lake", topic).count() == 10
    with pytest.raises(streamlog.ConfigError, match="has nothing of 'strange'"):
        loaded(spark, tmp_path / "lake", "strange")
    # A load that starts while `loaded` lists the folder publishes another file.
    (file,) = (tmp_path / "lake").glob("topic=*/date=*/load-000001-*.parquet")
    file.with_name(file.name.replace("000001", "000002", 1)).hardlink_to(file)
    assert loaded(spark, tmp_path / "lake").count() == 10


def test_key_value_headers_and_times_come_as_they_are(
    broker: BrokerProcess, client: streamlog.Client, topic: str, tmp_path: Path
) -> None:
    client.admin.create_topic(topic)
    yesterday = datetime.now(UTC) - timedelta(days=1)
    midnight = yesterday.replace(hour=0, minute=0, second=0, microsecond=0)
    with client.producer() as producer:
        producer.send(topic, b"v", key=b"k", headers=[("h", b"1"), ("h", None)], timestamp=midnight)
        before = midnight - timedelta(milliseconds=1)
        producer.send(topic, None, timestamp=before)
        producer.send(topic, b"", timestamp=-86_400_001)
    load_here(broker.address, tmp_path, [topic])
    files = sorted(tmp_path.glob("topic=*/date=*/*.parquet"))
    dates = [file.parent.name for file in files]
    assert dates == ["date=1969-12-30", f"date={before.date()}", f"date={midnight.date()}"]
    row = parquet.ParquetFile(files[-1]).read().to_pylist()[0]
    assert (row["key"], row["value"], row["offset"], row["timestamp"]) == (b"k", b"v", 0, midnight)
    assert row["headers"] == [{"key": "h", "value": b"1"}, {"key": "h", "value": None}]
    assert parquet.ParquetFile(files[1]).read().to_pylist()[0]["value"] is None
    told = parquet.read_schema(files[0]).metadata
    assert told[b"streamlog.topic"] == topic.encode()
    assert (told[b"streamlog.start"], told[b"streamlog.stop"]) == (b"0", b"3")


def test_all_dates_are_written_though_the_number_of_open_files_is_limited(
    broker: BrokerProcess, client: streamlog.Client, topic: str, tmp_path: Path
) -> None:
    client.admin.create_topic(topic)
    publish(client, topic, 150, hours=24)
    done = load_here(broker.address, tmp_path, [topic], offsets_per_file=1000)
    assert (done.records, done.files) == (150, 150)
    assert rows_of_files(tmp_path) == rows_of_log(client, [topic])


def test_memory_does_not_grow_with_the_partition(
    broker: BrokerProcess, client: streamlog.Client, topic: str, tmp_path: Path
) -> None:
    start_forking()
    peaks = []
    for mebibytes in (150, 450):
        name = f"{topic}-{mebibytes}"
        client.admin.create_topic(name)
        with client.producer() as producer:
            for number in range(mebibytes * 16):
                producer.send(name, number.to_bytes(8) * 2**13)
        peaks.append(peak_of_a_load(broker.address, tmp_path / name, name))
        client.admin.delete_topic(name)
    assert peaks[1] < peaks[0] * 1.2, [f"{peak / 2**20:.0f} MiB" for peak in peaks]


def test_a_bar_shows_how_far_a_load_is(
    broker: BrokerProcess,
    client: streamlog.Client,
    topic: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    client.admin.create_topic(topic)
    publish(client, topic, 40)
    drawn = ""

    def is_half() -> bool:
        nonlocal drawn
        drawn += capsys.readouterr().err
        return "50%" in drawn and "20/40 " in drawn and "20 records" in drawn

    def slowly(job: Job, indexes: Sequence[int]) -> list[Outcome]:
        first = write_range(job, indexes[0])
        until(is_half)
        return [first, write_range(job, indexes[1])]

    loading = Loading(Connection.of(broker.address, {}), Ledger(tmp_path), "zstd", True, 20)
    assert loading.run(Choice((topic,)), slowly, progress=True).records == 40
    assert capsys.readouterr().err.endswith(" \r"), "it is still there"
    publish(client, topic, 10)
    assert loading.run(Choice((topic,)), in_turn, progress=None).records == 10
    assert capsys.readouterr().err == "", "nobody watches"


def test_a_bar_without_its_package_says_what_to_install(
    broker: BrokerProcess,
    client: streamlog.Client,
    topic: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client.admin.create_topic(topic)
    publish(client, topic, 10)
    monkeypatch.setitem(sys.modules, "tqdm", None)
    loading = Loading(Connection.of(broker.address, {}), Ledger(tmp_path), "zstd", True, 20)
    with pytest.raises(streamlog.MissingExtra, match="pip install tqdm, or load with progress=F"):
        loading.run(Choice((topic,)), in_turn, progress=True)
    assert loading.run(Choice((topic,)), in_turn, progress=False).records == 10


def test_two_loads_at_once_are_refused(
    broker: BrokerProcess, client: streamlog.Client, topic: str, tmp_path: Path
) -> None:
    client.admin.create_topic(topic)
    publish(client, topic, 3)
    with (
        Ledger(tmp_path).held(client.admin.cluster().id),
        pytest.raises(streamlog.ConfigError, match=r"another load is at .*: process \d+ on"),
    ):
        load_here(broker.address, tmp_path, [topic])
    assert load_here(broker.address, tmp_path, [topic]).records == 3


def test_a_folder_of_something_else_is_refused(
    broker: BrokerProcess, client: streamlog.Client, topic: str, tmp_path: Path
) -> None:
    client.admin.create_topic(topic)
    (tmp_path / "letters.txt").write_text("not of a load")
    with pytest.raises(streamlog.ConfigError, match="files that no load has made"):
        load_here(broker.address, tmp_path, [topic])
    with pytest.raises(streamlog.ConfigError, match="expected a folder of a mounted"):
        Ledger("s3://bucket/lake")
    lake = tmp_path / "lake"
    load_here(broker.address, lake, [topic])
    with streamlog.Broker() as other, other.connect() as stranger:
        stranger.admin.create_topic(topic)
        with pytest.raises(streamlog.ConfigError, match="has the records of cluster"):
            load_here(other.address, lake, [topic])


def test_options_that_are_invalid_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(streamlog.ConfigError, match="neither given"):
        load(spark, tmp_path)
    with pytest.raises(streamlog.ConfigError, match="both given"):
        load(spark, tmp_path, subscribe="a", subscribe_pattern="b")
    with pytest.raises(streamlog.ConfigError, match=r"is no pattern"):
        load(spark, tmp_path, subscribe_pattern="(")
    with pytest.raises(streamlog.ConfigError, match="there is no topic in it"):
        load(spark, tmp_path, subscribe=" , ")
    with pytest.raises(streamlog.ConfigError, match="compression: invalid value 'zip'"):
        load(spark, tmp_path, subscribe="a", compression="zip")
    with pytest.raises(streamlog.ConfigError, match="offsets_per_file: invalid value 0"):
        load(spark, tmp_path, subscribe="a", offsets_per_file=0)
    assert list(tmp_path.iterdir()) == []
