"""Brokers that are cut off from ZooKeeper, and from nobody else."""

import time

from faults.ground.cluster import IDS
from faults.ground.server import NODE
from faults.stage import SESSION_SECONDS, Fault, Stage

WHOLE_LEASES = 2.0


def cut_from_zookeeper(stage: Stage) -> str:
    """Loses what ZooKeeper and a broker send to each other until the session has ended."""
    number = stage.leader()
    broker = stage.broker(number)
    before = stage.cluster.incarnation(number)
    stage.cluster.network.part(broker.node, NODE)
    try:
        assert not stage.cluster.zookeeper.answers(broker.node), "the link is not cut"
        effect = stage.await_without(number)
    finally:
        stage.cluster.network.unpart(broker.node, NODE)
    return f"{effect}; the session of incarnation {before} has ended"


def lose_answers(stage: Stage) -> str:
    """Loses ZooKeeper's answers to a broker, but not its requests, until its session has ended."""
    number = stage.leader()
    broker = stage.broker(number)
    stage.cluster.network.drop(broker.node, NODE)
    try:
        assert stage.cluster.network.rules(broker.node) == 1
        return stage.await_without(number)
    finally:
        stage.cluster.network.undrop(broker.node)


def cut_all(stage: Stage) -> str:
    """Cuts ZooKeeper off from all brokers for longer than their sessions."""
    before = {number: stage.cluster.incarnation(number) for number in IDS}
    stage.cluster.network.cut(NODE)
    try:
        begin = time.monotonic()
        while time.monotonic() - begin < WHOLE_LEASES * SESSION_SECONDS:
            nodes = [broker.node for broker in stage.cluster.brokers.values()]
            assert not any(stage.cluster.zookeeper.answers(node) for node in nodes)
    finally:
        stage.cluster.network.join(NODE)
    after = {number: stage.cluster.incarnation(number) for number in IDS}
    ended = sum(after[number] != before[number] for number in IDS)
    return f"no broker reached ZooKeeper for {WHOLE_LEASES:.0f} sessions; {ended} ended"


FAULTS = (
    Fault("cut-from-zookeeper", 6, cut_from_zookeeper),
    Fault("lost-answers-of-zookeeper", 6, lose_answers),
    Fault("all-cut-from-zookeeper", 6, cut_all),
)
