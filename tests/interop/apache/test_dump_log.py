"""kafka-dump-log on the files of a data directory: Apache's own reader is the oracle."""

import json
import re
from pathlib import Path

import pytest

import streamlog
from interop.apache.running import Tools
from py.support.broker import BrokerProcess, until

DUMP = "kafka-dump-log"
FAULTS = re.compile("mismatch|not indexed|out of order|Found|isvalid: false", re.IGNORECASE)


@pytest.fixture
def partition(broker: BrokerProcess, observer: streamlog.Client, name: str) -> Path:
    """The folder of a partition with several segments, and 20,000 records of rising times."""
    observer.admin.create_topic(name, partitions=1, config={"segment.bytes": 1 << 20})
    with observer.producer() as producer:
        for number in range(20_000):
            key, headers = f"key {number % 9}".encode(), {"n": str(number).encode()}
            producer.send(name, f"value {number} ".encode() * 9, key=key, headers=headers)
    return broker.data_dir / f"{name}-0"


def files(partition: Path, *kinds: str) -> list[str]:
    """The files of these kinds, of every segment, once they are on disk: they follow the log."""
    segments = len(list(partition.glob("*.log")))
    for kind in kinds:
        until(lambda kind=kind: len(list(partition.glob(kind))) == segments)
    return sorted(str(file) for kind in kinds for file in partition.glob(kind))


@pytest.mark.tool("kafka-dump-log", "records")
def test_every_record_is_found_in_the_segments(tools: Tools, partition: Path) -> None:
    segments = files(partition, "*.log")
    assert len(segments) >= 2
    options = ("--print-data-log", "--deep-iteration")
    printed = tools.run(DUMP, "--files", ",".join(segments), *options)
    assert not FAULTS.search(printed)
    batches = re.findall(r"^baseOffset: .* isvalid: (\w+)$", printed, re.MULTILINE)
    assert set(batches) == {"true"}
    records = re.findall(
        r"^\| offset: (\d+) .*headerKeys: \[n\] key: key (\d) payload: value (\d+) ",
        printed,
        re.MULTILINE,
    )
    assert records == [(str(n), str(n % 9), str(n)) for n in range(20_000)]


@pytest.mark.tool("kafka-dump-log", "indexes")
def test_the_indexes_are_sound_and_agree_with_the_log(tools: Tools, partition: Path) -> None:
    indexes = files(partition, "*.index", "*.timeindex")
    checked = tools.run(DUMP, "--files", ",".join(indexes), "--index-sanity-check")
    assert checked.count("passed sanity check") == len(indexes)
    printed = tools.run(DUMP, "--files", ",".join(indexes))
    assert not FAULTS.search(printed)
    assert len(re.findall(r"^offset: \d+ position: \d+$", printed, re.MULTILINE)) > 20
    assert len(re.findall(r"^timestamp: \d+ offset: \d+$", printed, re.MULTILINE)) > 5


@pytest.mark.tool("kafka-dump-log", "groups")
def test_groups_and_their_offsets_are_decoded(
    tools: Tools, broker: BrokerProcess, observer: streamlog.Client, filled: str
) -> None:
    with observer.consumer(filled, group=filled) as consumer:
        assert len(list(consumer.until_end())) == 1000
    logs = [str(log) for log in broker.data_dir.glob("__consumer_offsets-*/*.log")]
    printed = tools.run(DUMP, "--files", ",".join(logs), "--offsets-decoder")
    assert not FAULTS.search(printed)
    entries = [
        (json.loads(key), json.loads(payload))
        for key, payload in re.findall(r" key: (\{.*\}) payload: (\{.*\})$", printed, re.MULTILINE)
    ]
    members = [
        member["clientHost"]
        for key, payload in entries
        if key["type"] == "2" and key["data"] == {"group": filled}
        for member in payload["data"]["members"]
    ]
    assert "/127.0.0.1" in members
    committed = {
        key["data"]["partition"]: payload["data"]["offset"]
        for key, payload in entries
        if key["type"] == "1" and key["data"]["group"] == filled
    }
    assert committed == {0: 500, 1: 500}


@pytest.mark.tool("kafka-dump-log", "producers")
def test_a_snapshot_of_producers_is_not_read(tools: Tools, partition: Path) -> None:
    until(lambda: any(partition.glob("*.snapshot")))
    # There may be several, the older of which are removed as newer ones are written.
    snapshot = max(partition.glob("*.snapshot"))
    printed = tools.complaint(DUMP, "--files", str(snapshot))
    assert "Snapshot failed schema validation" in printed
