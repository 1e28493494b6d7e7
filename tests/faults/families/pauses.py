"""Brokers that stand still for longer than their session, and go on as if nothing had been."""

from faults.stage import Fault, Stage


def pause_leader(stage: Stage) -> str:
    """Pauses the leader of a partition until its session has ended and another one leads."""
    number = stage.leader()
    before = stage.cluster.incarnation(number)
    stage.broker(number).pause()
    try:
        effect = stage.await_without(number)
        assert stage.cluster.incarnation(number) != before, "the session goes on"
    finally:
        stage.broker(number).resume()
    return effect


def pause_controller(stage: Stage) -> str:
    """Pauses the controller until another broker is controller."""
    number = stage.cluster.controller()
    stage.broker(number).pause()
    try:
        effect = stage.await_without(number)
        successor = stage.cluster.controller()
        assert successor not in (-1, number), "nobody else became controller"
    finally:
        stage.broker(number).resume()
    return f"{effect}; controller {number}, then {successor}"


FAULTS = (Fault("paused-leader", 2, pause_leader), Fault("paused-controller", 2, pause_controller))
