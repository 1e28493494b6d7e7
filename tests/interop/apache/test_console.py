"""The console producer and the console consumer, and the tools that measure both."""

import json

import pytest

import streamlog
from interop.apache.running import Tools
from interop.support.features import CODECS

RECORDS = (
    "first:one,second:two\tkey 1\tvalue 1",
    "NOTHING\tkey 2\tvalue 2",
    "name:\tkey 3\tNOTHING",
)
READ_RECORDS = (
    "--reader-property",
    "parse.headers=true",
    "--reader-property",
    "parse.key=true",
    "--reader-property",
    "null.marker=NOTHING",
)
PRINT_RECORDS = (
    "--formatter-property",
    "print.headers=true",
    "--formatter-property",
    "print.key=true",
    "--formatter-property",
    "print.offset=true",
    "--formatter-property",
    "null.literal=NOTHING",
)


@pytest.mark.tool("kafka-console-producer", "produce")
@pytest.mark.tool("kafka-console-consumer", "consume")
def test_the_console_consumer_prints_what_the_console_producer_reads(
    tools: Tools, observer: streamlog.Client, name: str
) -> None:
    observer.admin.create_topic(name, partitions=1)
    for codec in CODECS:
        acks = ("--command-property", "acks=1" if codec == "none" else "acks=all")
        text = "\n".join(RECORDS) + "\n"
        options = ("--topic", name, "--compression-codec", codec, *acks, *READ_RECORDS)
        tools.ask("kafka-console-producer", *options, stdin=text)
    read = [(m.key, m.value, m.headers) for m in observer.topic(name)]
    headers = (("first", b"one"), ("second", b"two"))
    assert read[:3] == [
        (b"key 1", b"value 1", headers),
        (b"key 2", b"value 2", ()),
        (b"key 3", None, (("name", b""),)),
    ]
    assert read == read[:3] * len(CODECS)

    output = ("--topic", name, "--timeout-ms", "10000", *PRINT_RECORDS)
    all_of_them = ("--from-beginning", "--max-messages", str(len(read)))
    printed = tools.ask("kafka-console-consumer", *output, *all_of_them).splitlines()
    shown = [row.replace("NOTHING", "NO_HEADERS", 1) if row[0] == "N" else row for row in RECORDS]
    assert printed == [f"Offset:{n}\t{shown[n % 3]}" for n in range(len(read))]
    two_of_them = ("--partition", "0", "--offset", "7", "--max-messages", "2")
    assert tools.ask("kafka-console-consumer", *output, *two_of_them).splitlines() == printed[7:9]


@pytest.mark.tool("kafka-console-consumer", "group")
def test_the_console_consumer_goes_on_where_its_group_stopped(tools: Tools, filled: str) -> None:
    printed: list[str] = []
    for count in (400, 600):
        options = ["--topic", filled, "--group", filled, "--max-messages", str(count)]
        options += ["--timeout-ms", "20000", "--from-beginning"]
        printed += tools.ask("kafka-console-consumer", *options).split("\n")[:-1]
    assert len(printed) == 1000
    assert set(printed) == {f"line {number}" for number in range(1000)}


@pytest.mark.tool("kafka-producer-perf-test", "produce")
@pytest.mark.tool("kafka-consumer-perf-test", "consume")
@pytest.mark.tool("kafka-e2e-latency", "measure")
def test_the_tools_that_measure_get_their_figures(
    tools: Tools, observer: streamlog.Client, name: str
) -> None:
    observer.admin.create_topic(name, partitions=2)
    size = ("--num-records", "20000", "--record-size", "100", "--throughput", "-1")
    told = tools.ask("kafka-producer-perf-test", "--topic", name, *size)
    assert "20000 records sent" in told
    assert sum(end or 0 for end in observer.topic(name).end_offsets().values()) == 20_000
    told = tools.ask("kafka-consumer-perf-test", "--topic", name, "--num-records", "20000")
    assert int(told.splitlines()[-1].split(", ")[4]) >= 20_000
    size = ("--num-records", "100", "--record-size", "100", "--producer-acks", "all")
    assert "Avg latency" in tools.ask("kafka-e2e-latency", "--topic", name, *size)


@pytest.mark.tool("kafka-verifiable-producer", "produce")
@pytest.mark.tool("kafka-verifiable-consumer", "consume")
def test_the_verifiable_tools_agree(tools: Tools, observer: streamlog.Client, name: str) -> None:
    observer.admin.create_topic(name, partitions=2)
    count = ("--max-messages", "50")
    sent = tools.ask("kafka-verifiable-producer", "--topic", name, *count)
    acknowledged = [row for row in map(json.loads, sent.splitlines()) if "value" in row]
    assert [row["name"] for row in acknowledged] == ["producer_send_success"] * 50
    group = ("--group-id", name, "--reset-policy", "earliest", *count)
    received = tools.ask("kafka-verifiable-consumer", "--topic", name, *group)
    events = [json.loads(row) for row in received.splitlines()]
    assert sum(e["count"] for e in events if e["name"] == "records_consumed") == 50
    assert all(event["success"] for event in events if event["name"] == "offsets_committed")
    assert sum(observer.admin.group(name).committed().values()) == 50
