"""kafka-topics and what else is asked about topics and brokers."""

import json
import re
from pathlib import Path

import pytest

import streamlog
from interop.apache.conftest import FIRST_MS
from interop.apache.running import Refused, Tools


@pytest.mark.tool("kafka-topics", "administer")
def test_kafka_topics_creates_lists_describes_grows_and_deletes(
    tools: Tools, observer: streamlog.Client, name: str
) -> None:
    wanted = ("--partitions", "2", "--config", "retention.ms=86400000")
    assert (
        tools.ask("kafka-topics", "--create", "--topic", name, *wanted)
        .strip()
        .endswith(f"Created topic {name}.")
    )
    assert name in tools.ask("kafka-topics", "--list").split()
    tools.ask("kafka-topics", "--alter", "--topic", name, "--partitions", "3")
    head, *rest = tools.ask("kafka-topics", "--describe", "--topic", name).splitlines()
    assert re.search(r"PartitionCount: 3\tReplicationFactor: 1\t", head)
    assert "retention.ms=86400000" in head
    assert [re.findall(r"(?:Partition|Leader|Replicas|Isr): (\d+)", line) for line in rest] == [
        [str(partition), "1", "1", "1"] for partition in range(3)
    ]
    tools.ask("kafka-topics", "--delete", "--topic", name)
    assert name not in observer.admin.topics()


@pytest.mark.tool("kafka-topics", "refusals")
def test_kafka_topics_shows_the_reason_of_a_refusal(tools: Tools, filled: str) -> None:
    with pytest.raises(Refused, match=f"topic '{filled}' exists"):
        tools.ask("kafka-topics", "--create", "--topic", filled)
    tools.ask("kafka-topics", "--create", "--if-not-exists", "--topic", filled)
    with pytest.raises(Refused, match="Topic 'absent' does not exist"):
        tools.ask("kafka-topics", "--describe", "--topic", "absent")
    with pytest.raises(Refused, match="the topic has 2 already"):
        tools.ask("kafka-topics", "--alter", "--topic", filled, "--partitions", "1")


@pytest.mark.tool("kafka-get-offsets", "offsets")
@pytest.mark.tool("kafka-delete-records", "delete")
def test_offsets_are_told_and_records_below_one_deleted(
    tools: Tools, filled: str, tmp_path: Path
) -> None:
    def offsets(time: str) -> list[str]:
        return tools.ask("kafka-get-offsets", "--topic", filled, "--time", time).split()

    assert offsets("latest") == [f"{filled}:0:500", f"{filled}:1:500"]
    assert offsets("max-timestamp") == [f"{filled}:0:499", f"{filled}:1:499"]
    assert offsets("latest-tiered") == [], "nothing is in another storage"
    assert offsets(str(FIRST_MS + 100)) == [f"{filled}:0:50", f"{filled}:1:50"]
    below = {"partitions": [{"topic": filled, "partition": 1, "offset": 120}], "version": 1}
    (tmp_path / "below.json").write_text(json.dumps(below))
    told = tools.ask("kafka-delete-records", "--offset-json-file", str(tmp_path / "below.json"))
    assert f"partition: {filled}-1\tlow_watermark: 120" in told
    for time in ("earliest", "earliest-local"):
        assert offsets(time) == [f"{filled}:0:0", f"{filled}:1:120"]


@pytest.mark.tool("kafka-leader-election", "elect")
@pytest.mark.tool("kafka-reassign-partitions", "list")
def test_every_leader_is_the_right_one_and_nothing_moves(tools: Tools, filled: str) -> None:
    tools.ask("kafka-leader-election", "--election-type", "preferred", "--all-topic-partitions")
    place = ("--topic", filled, "--partition", "0")
    told = tools.ask("kafka-leader-election", "--election-type", "unclean", *place)
    assert f"Valid replica already elected for partitions {filled}-0" in told
    assert "No partition reassignments found." in tools.ask("kafka-reassign-partitions", "--list")


@pytest.mark.tool("kafka-log-dirs", "describe")
@pytest.mark.tool("kafka-transactions", "producers")
def test_sizes_on_disk_and_producers_are_described(
    tools: Tools, filled: str, observer: streamlog.Client
) -> None:
    answer = tools.ask("kafka-log-dirs", "--describe", "--topic-list", filled).splitlines()[-1]
    (broker,) = json.loads(answer)["brokers"]
    (folder,) = broker["logDirs"]
    sizes = {row["partition"]: row["size"] for row in folder["partitions"]}
    assert sizes.keys() == {f"{filled}-0", f"{filled}-1"}
    assert all(size > 500 * len("line 0") for size in sizes.values())
    place = ("--topic", filled, "--partition", "0")
    _, producer = tools.cells("kafka-transactions", "describe-producers", *place)
    assert producer[3] == "499", "the last sequence number of the only producer"


@pytest.mark.tool("kafka-broker-api-versions", "list")
@pytest.mark.tool("kafka-cluster", "describe")
@pytest.mark.tool("kafka-features", "describe")
def test_the_broker_is_described(tools: Tools, observer: streamlog.Client) -> None:
    versions = tools.ask("kafka-broker-api-versions")
    assert re.search(r"Produce\(0\): 0 to \d+ \[usable: \d+\]", versions)
    assert f"Cluster ID: {observer.admin.cluster().id}" in tools.run(
        "kafka-cluster", "cluster-id", "--bootstrap-server", tools.address
    )
    endpoints = tools.run("kafka-cluster", "list-endpoints", "--bootstrap-server", tools.address)
    host, port = tools.address.split(":")
    assert ["1", host, port] in [line.split()[:3] for line in endpoints.splitlines()]
    assert "metadata.version" in tools.ask("kafka-features", "describe")


REFUSED = {
    ("kafka-transactions", "list"): "does not support LIST_TRANSACTIONS",
    ("kafka-acls", "list"): "this broker has no authorizer",
    ("kafka-metadata-quorum", "describe"): "does not support DESCRIBE_QUORUM",
    ("kafka-delegation-tokens", "describe"): "does not support DESCRIBE_DELEGATION_TOKEN",
    ("kafka-configs", "loggers"): "have no settings here",
}
ARGUMENTS = {
    "kafka-transactions": "list",
    "kafka-acls": "--list",
    "kafka-metadata-quorum": "describe --status",
    "kafka-delegation-tokens": "--describe --command-config /dev/null",
    "kafka-configs": "--describe --entity-type broker-loggers --entity-name 1",
}


@pytest.mark.parametrize(
    ("tool", "reason"),
    [
        pytest.param(tool, reason, marks=pytest.mark.tool(tool, cell), id=tool)
        for (tool, cell), reason in REFUSED.items()
    ],
)
def test_what_does_not_exist_here_is_refused_by_name(tools: Tools, tool: str, reason: str) -> None:
    where = ("--bootstrap-server", tools.address)
    assert reason in tools.complaint(tool, *where, *ARGUMENTS[tool].split())
