"""Nodes of ZooKeeper that somebody edits or deletes by hand, and puts right again."""

from faults.ground.cluster import TREE
from faults.ground.session import Node
from faults.ground.waiting import until
from faults.stage import PARTITIONS, RECORDS, TOPIC, Fault, Stage


def state_path(partition: int) -> str:
    """The node with the state of a partition."""
    return f"{TREE}/brokers/topics/{TOPIC}/partitions/{partition}/state"


def _folders(stage: Stage) -> int:
    """The number of the topic's logs; compaction may leave each with fewer segments."""
    brokers = stage.cluster.brokers.values()
    return len({log.parent for broker in brokers for log in broker.data.glob(f"{TOPIC}-*/*.log")})


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


def _restore(stage: Stage, nodes: dict[str, Node]) -> None:
    """Puts nodes right that are missing or have another value."""
    with stage.cluster.zookeeper.session() as session:
        for path, node in nodes.items():
            if session.get(path) is None:
                session.create(path, node.value)
            else:
                session.set(path, node.value)


def _await_problem(stage: Stage, words: str) -> None:
    until(f"a problem names {words}", lambda: words in stage.cluster.problems())


def _deletion(stage: Stage, path: str, named: str) -> str:
    """Deletes a node and all below it for a while; a problem names it. Returns what was seen."""
    logs = _folders(stage)
    with stage.cluster.zookeeper.session() as session:
        nodes = session.delete_tree(path)
    assert nodes
    _await_problem(stage, named)
    assert all(broker.is_running for broker in stage.cluster.brokers.values())
    assert _folders(stage) >= logs, "a log is gone"
    _restore(stage, nodes)
    until("the problem is over", lambda: named not in stage.cluster.problems())
    return f"{path} was deleted: {len(nodes)} nodes; it was named, and restored"


def _overwriting(stage: Stage, path: str) -> str:
    """Overwrites a node with nonsense for a while; a problem names it. Returns what was seen."""
    with stage.cluster.zookeeper.session() as session:
        node = session.get(path)
        assert node is not None
        session.set(path, b"{nonsense")
    named = f"node {path.removeprefix(TREE)} cannot be read"
    _await_problem(stage, named)
    _restore(stage, {path: node})
    until("the problem is over", lambda: named not in stage.cluster.problems())
    return f"{path} was nonsense; it was named, and restored"


def delete_topic(stage: Stage) -> str:
    """Deletes the topic: brokers name its logs, which they leave alone."""
    return _deletion(stage, f"{TREE}/brokers/topics/{TOPIC}", f"the logs of topic '{TOPIC}'")


def delete_settings(stage: Stage) -> str:
    """Deletes the settings of the topic: it is not served with others."""
    path = f"/config/topics/{TOPIC}"
    return _deletion(stage, f"{TREE}{path}", f"node {path} was deleted by hand")


def overwrite_topic(stage: Stage) -> str:
    """Overwrites the topic with nonsense."""
    return _overwriting(stage, f"{TREE}/brokers/topics/{TOPIC}")


def overwrite_settings(stage: Stage) -> str:
    """Overwrites the settings of the topic with nonsense."""
    return _overwriting(stage, f"{TREE}/config/topics/{TOPIC}")


def delete_what_every_tree_has(stage: Stage) -> str:
    """Deletes the marker of the tree with all known brokers, and the id of the cluster."""
    paths = [f"{TREE}/streamlog", f"{TREE}/cluster"]
    with stage.cluster.zookeeper.session() as session:
        known = [path for place in paths for path in session.delete_tree(place)]

    def are_there() -> bool:
        with stage.cluster.zookeeper.session() as session:
            return all(session.get(path) is not None for path in known)

    seconds = until("brokers create the nodes again", are_there)
    stage.load.await_more(RECORDS)
    return f"{len(known)} nodes that every tree has were created again after {seconds:.1f} s"


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
    Fault("topic-deleted-by-hand", 23, delete_topic),
    Fault("topic-of-nonsense", 23, overwrite_topic),
    Fault("settings-deleted-by-hand", 23, delete_settings),
    Fault("settings-of-nonsense", 23, overwrite_settings),
    Fault("tree-without-marker-and-id", 23, delete_what_every_tree_has),
    Fault("deleted-registration", 23, delete_registration),
    Fault("deleted-controller", 23, delete_controller),
)
