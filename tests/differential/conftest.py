"""Both brokers, started once for all tests."""

from collections.abc import Iterator

import pytest

from differential.support.both import Both
from differential.support.kafka import KafkaProcess, clients_jar
from differential.support.peers import Peers
from differential.support.schemas import read_apis
from py.support.broker import BrokerProcess

# What both are told, so that they are not different merely by their defaults.
SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    # The records of the scenarios are years old.
    "log.retention.check.interval.ms": "86400000",
}
OF_KAFKA = {
    "node.id": "1",
    "log.initial.task.delay.ms": "86400000",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}


@pytest.fixture(scope="session")
def peers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peers]:
    """The two brokers, with their internal topic of groups made."""
    folder = tmp_path_factory.mktemp("differential")
    options = [part for row in SETTINGS.items() for part in ("--set", "=".join(row))]
    kafka = KafkaProcess(folder, {**SETTINGS, **OF_KAFKA})
    with kafka, BrokerProcess(folder / "streamlog", *options) as streamlog:
        addresses = Both(kafka.address, streamlog.address)
        peers = Peers.at(read_apis(clients_jar()), addresses)
        peers.wait_for_coordinators()
        yield peers
        peers.close()
