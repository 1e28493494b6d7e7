"""Links that are cut: of one broker, between two of them, in one direction."""

from faults.ground.cluster import CLIENTS
from faults.ground.waiting import until
from faults.stage import TOPIC, Fault, Stage, others


def isolate_leader(stage: Stage) -> str:
    """Cuts the leader of a partition off from everybody, silently."""
    number = stage.leader()
    node = stage.broker(number).node
    stage.cluster.network.cut(node)
    try:
        assert not stage.cluster.zookeeper.answers(node), "the link is not cut"
        return stage.await_without(number)
    finally:
        stage.cluster.network.join(node)


def part_two(stage: Stage) -> str:
    """Cuts two brokers off from each other; both reach the third, ZooKeeper and the clients.

    Each leads a partition that the other follows: there the other leaves the in-sync set.
    """
    number = stage.leader()
    other = stage.random.choice(others(number))
    nodes = [stage.broker(number).node, stage.broker(other).node]
    stage.cluster.network.part(*nodes)
    try:

        def is_shrunk() -> bool:
            states = stage.cluster.states(TOPIC).values()
            led = [state for state in states if state.leader in (number, other)]
            return bool(led) and not any({number, other} <= set(s.members) for s in led)

        seconds = until(f"{number} and {other} are in no set together", is_shrunk)
        assert all(stage.cluster.incarnation(b) for b in (number, other)), "a session has ended"
        stage.load.await_more(500)
    finally:
        stage.cluster.network.unpart(*nodes)
    return f"brokers {number} and {other} in no in-sync set together after {seconds:.1f} s"


def deafen_follower(stage: Stage) -> str:
    """Loses what the other brokers send to one: its fetches arrive, but not the answers."""
    number = stage.leader()
    broker = stage.broker(number)
    sources = [stage.broker(other).node for other in others(number)]
    stage.cluster.network.drop(broker.node, *sources)
    try:
        assert stage.cluster.network.rules(broker.node) == len(sources)

        def is_out() -> bool:
            states = stage.cluster.states(TOPIC).values()
            # What it leads itself goes on without the others, whose fetches it does not hear.
            led = [s for s in states if s.leader != number]
            own = [s for s in states if s.leader == number]
            return bool(states) and all(
                [*(number not in s.members for s in led), *(len(s.members) == 1 for s in own)]
            )

        seconds = until(f"broker {number} is in nobody's set", is_out)
    finally:
        stage.cluster.network.undrop(broker.node)
    return f"broker {number} alone with what it leads after {seconds:.1f} s"


def mute_to_clients(stage: Stage) -> str:
    """Loses what a broker sends to the clients: records arrive, acknowledgements do not."""
    number = stage.leader()
    node = stage.broker(number).node
    stage.cluster.network.drop(CLIENTS, node)
    try:
        assert stage.cluster.network.rules(CLIENTS) == 1
        dropped = until(
            "the clients lose answers", lambda: stage.cluster.network.dropped(CLIENTS) > 50
        )
        stage.load.await_more(500)
    finally:
        stage.cluster.network.undrop(CLIENTS)
    return f"more than 50 packets of broker {number} lost within {dropped:.1f} s"


FAULTS = (
    Fault("isolated-leader", 3, isolate_leader),
    Fault("parted-pair", 4, part_two),
    Fault("deaf-follower", 5, deafen_follower),
    Fault("mute-to-clients", 5, mute_to_clients),
)
