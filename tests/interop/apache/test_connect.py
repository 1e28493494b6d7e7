"""Kafka Connect, with the file connectors that come with it."""

import json
import socket
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

import streamlog
from interop.apache.running import Program, http, write_properties
from py.support.broker import BrokerProcess, until

WORKER = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    "offset.flush.interval.ms": "500",
    # Looking into every jar for connectors takes longer than the test.
    "plugin.discovery": "service_load",
}
SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
PATIENCE_SECONDS = 60


def lines(first: int, end: int) -> str:
    """Numbered lines of a file."""
    return "".join(f"line number {number}\n" for number in range(first, end))


def has(path: Path, text: str) -> bool:
    """Return true if a file contains at least this text."""
    return path.exists() and path.stat().st_size >= len(text)


def values(observer: streamlog.Client, topic: str) -> str:
    """The records of a topic as lines."""
    return "".join(f"{(message.value or b'').decode()}\n" for message in observer.topic(topic))


def connectors(topic: str, source: Path, sink: Path) -> Sequence[dict[str, str]]:
    """A file becomes a topic, and the topic another file."""
    return (
        {"name": f"{topic}-source", "connector.class": SOURCE, "topic": topic, "file": str(source)},
        {"name": f"{topic}-sink", "connector.class": SINK, "topics": topic, "file": str(sink)},
    )


@pytest.mark.tool("connect-standalone", "copy")
def test_a_file_goes_through_a_topic_into_a_file_and_goes_on_after_a_stop(
    broker: BrokerProcess, observer: streamlog.Client, name: str, tmp_path: Path
) -> None:
    observer.admin.create_topic(name, partitions=1)
    source, sink, offsets = (tmp_path / part for part in ("source", "sink", "offsets"))
    worker = {"bootstrap.servers": broker.address, "listeners": "HTTP://127.0.0.1:0"}
    worker |= {**WORKER, "offset.storage.file.filename": str(offsets)}
    files = [write_properties(tmp_path / "worker.properties", worker)]
    for connector in connectors(name, source, sink):
        files.append(write_properties(tmp_path / connector["name"], connector))

    for first, end in ((0, 5_000), (5_000, 8_000)):
        with source.open("a") as more:
            more.write(lines(first, end))
        with Program(tmp_path / "worker.log", "connect-standalone", *files) as program:
            until(partial(has, sink, lines(0, end)), PATIENCE_SECONDS)
            program.stop()
        assert sink.read_text() == source.read_text()
    assert values(observer, name) == source.read_text()


class Worker:
    """The REST interface of a distributed worker."""

    def __init__(self, port: int) -> None:
        """Keeps its port."""
        self.url = f"http://127.0.0.1:{port}/connectors"

    def is_up(self) -> bool:
        """Return true if the worker has read its topics and accepts requests."""
        return http("GET", self.url) is not None

    def put(self, connector: dict[str, str]) -> None:
        """Makes a connector."""
        body = json.dumps({key: value for key, value in connector.items() if key != "name"})
        assert http("PUT", f"{self.url}/{connector['name']}/config", body.encode()) is not None

    def has_committed(self, connector: str, key: str, offset: int) -> bool:
        """Return true if a connector has committed this offset."""
        answer = json.loads(http("GET", f"{self.url}/{connector}/offsets") or b'{"offsets": []}')
        return [row["offset"][key] for row in answer["offsets"]] == [offset]


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


@pytest.mark.tool("connect-distributed", "copy")
def test_a_worker_that_was_killed_finds_its_connectors_and_offsets_in_their_topics(
    broker: BrokerProcess, observer: streamlog.Client, name: str, tmp_path: Path
) -> None:
    observer.admin.create_topic(name, partitions=1)
    source, sink = tmp_path / "source", tmp_path / "sink"
    port = free_port()
    worker = {**WORKER, "bootstrap.servers": broker.address, "group.id": f"{name}-workers"}
    worker |= {"listeners": f"HTTP://127.0.0.1:{port}", "offset.storage.partitions": "2"}
    # A worker that was killed is missed for as long as its session lasts.
    worker |= {"session.timeout.ms": "3000", "heartbeat.interval.ms": "500"}
    for kind in ("config", "offset", "status"):
        worker |= {f"{kind}.storage.topic": f"{name}-{kind}"}
        worker |= {f"{kind}.storage.replication.factor": "1"}
    file = write_properties(tmp_path / "worker.properties", worker)
    rest = Worker(port)

    for first, end in ((0, 5_000), (5_000, 8_000)):
        with source.open("a") as more:
            more.write(lines(first, end))
        with Program(tmp_path / "worker.log", "connect-distributed", file):
            until(rest.is_up, PATIENCE_SECONDS)
            if first == 0:
                for connector in connectors(name, source, sink):
                    rest.put(connector)
            until(partial(has, sink, lines(0, end)), PATIENCE_SECONDS)
            for done in (
                partial(rest.has_committed, f"{name}-source", "position", source.stat().st_size),
                partial(rest.has_committed, f"{name}-sink", "kafka_offset", end),
            ):
                until(done, PATIENCE_SECONDS)
        assert sink.read_text() == source.read_text()
    assert values(observer, name) == source.read_text()
    for kind in ("config", "offset", "status"):
        settings = observer.admin.settings(topic=f"{name}-{kind}")
        assert settings["cleanup.policy"].value == "compact"
