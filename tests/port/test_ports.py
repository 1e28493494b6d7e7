"""A service and its port are given the same and give the same, through a stop and a new start."""

import json
import signal
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import streamlog
from py.support.broker import BrokerProcess, until

HERE = Path(__file__).parent
ORDERS = 120
BROKEN = b"{ no order"
STOP_SECONDS = 30.0

Outcome = dict[tuple[str, int, bytes | None], list[bytes | None]]
"""Values in their order, by topic, partition and key."""

# The group of a service, where its work goes, and how many of twenty orders it lays aside.
SERVICES = {
    "from_confluent_kafka": ("enricher", "orders.enriched", 2),
    "from_kafka_python": ("invoices", "invoices", 1),
}


def publish(client: streamlog.Client, first: int, count: int) -> None:
    """Orders of three customers; of twenty, one cannot be read and one is a tombstone."""
    with client.producer() as producer:
        for number in range(first, first + count):
            customer = f"c{number % 3 + 1}"
            order = {"id": number, "customer": customer, "count": number % 7, "price": 25}
            special = {9: None, 19: BROKEN}
            value = special.get(number % 20, json.dumps(order).encode())
            producer.send("orders", value, key=customer.encode())


def run(program: Path, broker: BrokerProcess, client: streamlog.Client, group: str) -> None:
    """Lets a service work off all there is, then ends it with SIGTERM."""
    command = [sys.executable, str(program), broker.address]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as service:
        try:
            until(lambda: is_done(client, group) or service.poll() is not None, 60)
            service.send_signal(signal.SIGTERM)
            _, complaints = service.communicate(timeout=STOP_SECONDS)
        finally:
            service.kill()
    assert service.returncode == 0, complaints


def is_done(client: streamlog.Client, group: str) -> bool:
    """Return true if the group has committed all records."""
    committed = client.admin.group(group).committed()
    ends = client.admin.end_offsets("orders")
    return all(committed.get(("orders", number), 0) == end for number, end in ends.items())


def outcome(program: Path, data: Path, group: str, output: str) -> Outcome:
    """The output of a service for the orders, on a broker of its own."""
    found: Outcome = defaultdict(list)
    with BrokerProcess(data) as broker, streamlog.connect(broker.address) as client:
        for topic in ("orders", "orders.dead", output):
            client.admin.create_topic(topic, partitions=3)
        publish(client, 0, ORDERS // 2)
        run(program, broker, client, group)
        publish(client, ORDERS // 2, ORDERS - ORDERS // 2)
        run(program, broker, client, group)
        for topic in ("orders.dead", output):
            for message in client.topic(topic).read():
                found[topic, message.partition, message.key].append(message.value)
    return found


@pytest.mark.timeout(180)
@pytest.mark.parametrize("service", SERVICES)
def test_a_service_and_its_port_give_the_same(service: str, tmp_path: Path) -> None:
    group, output, dead = SERVICES[service]
    theirs = outcome(HERE / service / "theirs.py", tmp_path / "theirs", group, output)
    ours = outcome(HERE / service / "ours.py", tmp_path / "ours", group, output)
    assert theirs == ours
    values: dict[str, list[bytes | None]] = {"orders.dead": [], output: []}
    for (topic, _, _), found in ours.items():
        values[topic] += found
    assert len(values["orders.dead"]) == dead * ORDERS // 20
    assert len(set(values[output])) == len(values[output]) == ORDERS - 2 * ORDERS // 20
