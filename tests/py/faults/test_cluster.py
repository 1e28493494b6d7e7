"""Three brokers on a ZooKeeper, stopped in order or killed while librdkafka works with them."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import streamlog
from py.faults.conftest import PATIENCE
from py.support.broker import BrokerProcess, until
from py.support.ledger import Slot, faults
from py.support.load import IDEMPOTENT, Load, Reader, Sender

SLOTS: list[Slot] = [("moved", partition) for partition in range(3)]

SESSION_SECONDS = 30
"""Long enough that a test can tell its end from the word of a guard."""


@pytest.fixture
def brokers(zookeeper: str, tmp_path: Path) -> Iterator[list[BrokerProcess]]:
    """Three brokers, numbered from 1."""
    session = f"zookeeper.session.timeout.ms={1_000 * SESSION_SECONDS}"
    with ExitStack() as running:
        yield [
            running.enter_context(
                BrokerProcess(
                    tmp_path / f"broker-{number}",
                    *("--zookeeper", zookeeper, "--broker-id", str(number), "--set", session),
                )
            )
            for number in (1, 2, 3)
        ]


def numbers(broker: BrokerProcess) -> list[int]:
    """The numbers of the live brokers, as one of them knows them."""
    with streamlog.connect(broker.address) as client:
        return sorted(node.id for node in client.admin.cluster().brokers)


def are_all_in_sync(broker: BrokerProcess) -> bool:
    """True if each partition has its first replica as leader and all others in sync."""
    with streamlog.connect(broker.address) as client:
        partitions = client.admin.topic("moved").partitions
    return all(
        partition.leader == partition.replicas[0] and len(partition.isr) == 3
        for partition in partitions
    )


@pytest.mark.timeout(180)
def test_brokers_are_stopped_and_started_one_by_one_and_no_client_sees_an_error(
    brokers: list[BrokerProcess],
) -> None:
    addresses = ",".join(broker.address for broker in brokers)
    with streamlog.connect(addresses) as client:
        client.admin.create_topic("moved", partitions=len(SLOTS), replicas=3)
    # Without idempotence, librdkafka sends to a new leader while the old one has yet to refuse.
    senders = [Sender(f"sender-{number}", addresses, SLOTS, IDEMPOTENT) for number in range(3)]
    load = Load(senders, [Reader("reader", addresses, SLOTS)])
    for number, broker in enumerate(brokers):
        other = brokers[number - 1]
        until(lambda other=other: are_all_in_sync(other), PATIENCE)
        assert broker.stop() == 0
        assert "takes over moved-" in broker.log()
        before = load.progress()
        until(lambda before=before: load.progress() > before + 100, PATIENCE)
        load.check()
        broker.start(PATIENCE)
    until(lambda: are_all_in_sync(brokers[0]), PATIENCE)
    log = load.finish(addresses)
    assert list(faults(log, load.account(), load.witnesses())) == []


@pytest.mark.timeout(120)
def test_a_broker_that_python_runs_has_a_guard(brokers: list[BrokerProcess]) -> None:
    until(lambda: numbers(brokers[2]) == [1, 2, 3])
    brokers[0].kill()
    until(lambda: numbers(brokers[2]) == [2, 3], SESSION_SECONDS / 2)
