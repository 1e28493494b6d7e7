"""The final polls: a new client reads everything from the beginning."""

import time
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition

from faults.ground.cluster import CLIENTS, Cluster
from faults.ground.waiting import until
from faults.history.lines import Writer
from faults.history.operations import Assign, End
from faults.load.confluent import asked_end, consumer, polled

PROCESS = 1_000
ROUNDS = 2
READ_SECONDS = 120.0


def read_all(cluster: Cluster, topic: str, partitions: int, history: Path) -> dict[int, int]:
    """Reads all partitions up to their ends, with a new client in each round; returns the ends."""
    writer = Writer(history)
    ends: dict[int, int] = {}
    for process in range(PROCESS, PROCESS + ROUNDS):
        with cluster.network.inside(CLIENTS):
            client = consumer(cluster.bootstrap, f"final-{process}", tells_ends=True)
            client.assign([TopicPartition(topic, p, 0) for p in range(partitions)])
        writer.write(Assign(process, time.monotonic_ns()))
        for partition in range(partitions):
            end = _end(client, process, topic, partition)
            writer.write(end)
            ends[partition] = end.offset
        _read(client, process, ends, writer)
        client.close()
    writer.close()
    return ends


def _end(client: Consumer, process: int, topic: str, partition: int) -> End:
    found: list[End] = []

    def is_told() -> bool:
        end = asked_end(client, process, topic, partition)
        if end is not None:
            found.append(end)
        return bool(found)

    until(f"the end of partition {partition} is told", is_told)
    return found[0]


def _read(client: Consumer, process: int, ends: dict[int, int], writer: Writer) -> None:
    # The last record does not tell that the end is reached: where offsets count bytes, the end of a
    # batch lies beyond its last record.
    reached: dict[int, int] = {}

    def is_done() -> bool:
        writer.write(polled(client, process, reached))
        return all(reached.get(partition, -1) >= end for partition, end in ends.items())

    until(f"a new client reads up to {ends}", is_done, READ_SECONDS)
