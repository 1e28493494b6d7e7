"""Processes that are killed."""

import time

from faults.ground.cluster import IDS
from faults.ground.waiting import until
from faults.stage import RECORDS, TOPIC, Fault, Stage

LOOPS = 6


def _kill(stage: Stage, number: int) -> str:
    before = stage.cluster.incarnation(number)
    stage.broker(number).kill()
    effect = stage.await_without(number)
    stage.broker(number).start()
    assert stage.cluster.incarnation(number) != before
    return effect


def kill_leader(stage: Stage) -> str:
    """Kills the leader of a partition; another one leads."""
    return _kill(stage, stage.leader())


def kill_controller(stage: Stage) -> str:
    """Kills the controller; another broker takes its place."""
    controller = stage.cluster.controller()
    effect = _kill(stage, controller)
    successor = stage.cluster.controller()
    assert successor not in (-1, controller), "nobody else became controller"
    return f"{effect}; controller {controller}, then {successor}"


def kill_follower(stage: Stage) -> str:
    """Kills a broker that has just become an in-sync follower, and leads nothing yet."""
    number = stage.leader()
    stage.broker(number).kill()
    stage.await_without(number)
    stage.broker(number).start()

    def is_in_sync() -> bool:
        return any(number in state.members for state in stage.cluster.states(TOPIC).values())

    until(f"broker {number} is in sync somewhere", is_in_sync)
    leads = [p for p, leader in stage.cluster.leaders(TOPIC).items() if leader == number]
    stage.broker(number).kill()
    effect = stage.await_without(number)
    stage.broker(number).start()
    return f"{effect}; it led the partitions {leads}"


def kill_all(stage: Stage) -> str:
    """Kills all brokers within a second, in a random order."""
    order = stage.random.sample(IDS, len(IDS))
    begin = time.monotonic()
    for number in order:
        time.sleep(stage.random.uniform(0, 0.2))
        stage.broker(number).send_kill()
    spent = time.monotonic() - begin
    for number in order:
        stage.broker(number).kill()
    assert spent < 1.0, f"the kills took {spent:.1f} s"
    stage.load.await_standstill()
    epochs = {p: state.epoch for p, state in stage.cluster.states(TOPIC).items()}
    for number in order:
        stage.broker(number).start()
    stage.cluster.await_healed(TOPIC)
    states = stage.cluster.states(TOPIC)
    assert all(states[p].epoch > epoch for p, epoch in epochs.items()), "nobody was elected"
    return f"killed {order} within {spent:.2f} s; nothing was acknowledged until they returned"


def kill_in_a_loop(stage: Stage) -> str:
    """Kills a broker again and again, also while it starts."""
    number = stage.anyone()
    for _ in range(LOOPS):
        stage.broker(number).kill()
        stage.broker(number).launch()
        time.sleep(stage.random.uniform(0.05, 1.0))
    stage.broker(number).kill()
    effect = stage.await_without(number)
    stage.broker(number).start()
    stage.load.await_more(RECORDS)
    return f"{LOOPS} restarts; {effect}"


FAULTS = (
    Fault("killed-leader", 1, kill_leader),
    Fault("killed-follower", 1, kill_follower),
    Fault("killed-controller", 1, kill_controller),
    Fault("killed-all", 1, kill_all),
    Fault("killed-in-a-loop", 1, kill_in_a_loop),
)
