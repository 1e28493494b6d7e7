"""Sessions of living brokers that are ended by others."""

from contextlib import suppress

from faults.ground.session import NoAnswer, password_of
from faults.ground.waiting import until
from faults.stage import Fault, Stage


def expire(stage: Stage) -> str:
    """Ends the session of a leader, which then registers again."""
    number = stage.leader()
    node = stage.cluster.registration(number)
    assert node is not None

    def has_ended() -> bool:
        if stage.cluster.incarnation(number) != node.created:
            return True
        # The broker may take its session back before this end of it arrives.
        with suppress(NoAnswer):
            stage.cluster.zookeeper.session((node.owner, password_of(node.owner))).close()
        return False

    until(f"the session of broker {number} ends", has_ended)

    def is_new() -> bool:
        return stage.cluster.incarnation(number) not in (0, node.created)

    seconds = until(f"broker {number} registers again", is_new)
    assert stage.broker(number).is_running
    return f"broker {number} registered again after {seconds:.1f} s"


FAULTS = (Fault("expired-session", 21, expire),)
