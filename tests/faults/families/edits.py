"""Nodes of ZooKeeper that somebody edits or deletes by hand, and puts right again."""

from faults.ground.cluster import TREE
from faults.ground.waiting import until
from faults.stage import PARTITIONS, RECORDS, TOPIC, Fault, Stage


def state_path(partition: int) -> str:
    """The node with the state of a partition."""
    return f"{TREE}/brokers/topics/{TOPIC}/partitions/{partition}/state"


def _folders(stage: Stage) -> int:
    brokers = stage.cluster.brokers.values()
    return sum(len(list(broker.data.glob(f"{TOPIC}-*/*.log"))) for broker in brokers)


def nonsense(stage: Stage) -> str:
    """Overwrites the state of a partition with nonsense, and later with what was there."""
    partition = stage.random.randrange(PARTITIONS)
    path = state_path(partition)
    logs = _folders(stage)
    with stage.cluster.zookeeper.session() as session:
        node = session.get(path)
        assert node is not None
        session.set(path, b"{nonsense")
        edited = session.get(path)
        assert edited is not None
        assert edited.value == b"{nonsense"
    stage.load.await_more(RECORDS)
    assert all(broker.is_running for broker in stage.cluster.brokers.values())
    assert _folders(stage) >= logs, "a log is gone"
    with stage.cluster.zookeeper.session() as session:
        session.set(path, node.value)
    return f"partition state of {partition} was nonsense; the other partitions went on"


def delete_registration(stage: Stage) -> str:
    """Deletes the registration of a living broker: it registers again."""
    number = stage.leader()
    before = stage.cluster.incarnation(number)
    with stage.cluster.zookeeper.session() as session:
        session.delete(f"{TREE}/brokers/ids/{number}")

    def is_new() -> bool:
        return stage.cluster.incarnation(number) not in (0, before)

    seconds = until(f"broker {number} registers again", is_new)
    return f"broker {number} registered again after {seconds:.1f} s"


def delete_controller(stage: Stage) -> str:
    """Deletes the node of the controller: a broker becomes controller."""
    node = stage.cluster.node("/controller")
    assert node is not None
    with stage.cluster.zookeeper.session() as session:
        session.delete(f"{TREE}/controller")

    def is_new() -> bool:
        found = stage.cluster.node("/controller")
        return found is not None and found.created != node.created

    seconds = until("a broker becomes controller", is_new)
    return f"a broker became controller after {seconds:.1f} s"


FAULTS = (
    Fault("state-of-nonsense", 23, nonsense),
    Fault("deleted-registration", 23, delete_registration),
    Fault("deleted-controller", 23, delete_controller),
)
