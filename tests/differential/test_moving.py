"""The example that moves topics, from Apache Kafka to streamlog, with our client at both."""

import subprocess
import sys
from pathlib import Path

import streamlog
from differential.support.peers import Peers

PROGRAM = Path(__file__).parents[2] / "examples" / "move_topics.py"
PARTITIONS = 3
FIRST_MS = 1_790_000_000_000


def publish(client: streamlog.Client, numbers: range) -> None:
    """Records with keys, headers of both kinds, and times of their own."""
    with client.producer(compression="zstd") as producer:
        for number in numbers:
            producer.send(
                "moved",
                b"%d" % number if number % 10 else None,
                key=b"%d" % (number % 7),
                headers=[("number", b"%d" % number), ("nothing", None)],
                timestamp=FIRST_MS + number,
            )


def records(client: streamlog.Client) -> list[tuple[object, ...]]:
    """All that the topic has, by partition and offset."""
    return sorted(
        (m.partition, m.offset, m.key, m.value, m.headers, m.timestamp_ms)
        for m in client.topic("moved").read()
    )


def test_topics_move_from_apache_kafka_and_go_on_where_they_ended(peers: Peers) -> None:
    addresses = peers.addresses
    with (
        streamlog.connect(addresses.kafka) as old,
        streamlog.connect(addresses.streamlog) as new,
    ):
        old.admin.create_topic("moved", partitions=PARTITIONS)
        for numbers in (range(500), range(500, 700)):
            publish(old, numbers)
            command = [sys.executable, str(PROGRAM), addresses.kafka, addresses.streamlog, "moved"]
            subprocess.run(command, check=True, timeout=25)
            assert len(records(old)) == numbers.stop
            assert records(new) == records(old)
        # What stays would be in the answers that are compared.
        old.admin.group("moving").delete()
        for client in (old, new):
            client.admin.delete_topic("moved")
