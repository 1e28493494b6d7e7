"""A ZooKeeper that is paused, restarted, or away."""

import time

from faults.ground.cluster import IDS
from faults.ground.waiting import until
from faults.stage import SESSION_SECONDS, TOPIC, Fault, Stage

AWAY_SECONDS = 3 * SESSION_SECONDS


def _is_silent(stage: Stage, seconds: float) -> None:
    """Asserts that ZooKeeper answers nobody for so long."""
    begin = time.monotonic()
    while time.monotonic() - begin < seconds:
        assert not stage.cluster.zookeeper.answers(), "ZooKeeper answers"
        time.sleep(0.1)


def pause(stage: Stage) -> str:
    """Pauses ZooKeeper for longer than a session: all sessions may end at once."""
    before = {number: stage.cluster.incarnation(number) for number in IDS}
    stage.cluster.zookeeper.pause()
    try:
        _is_silent(stage, AWAY_SECONDS)
    finally:
        stage.cluster.zookeeper.resume()
    until("ZooKeeper answers", stage.cluster.zookeeper.answers)
    seconds = stage.cluster.await_healed(TOPIC)
    ended = sum(stage.cluster.incarnation(number) != before[number] for number in IDS)
    return f"silent for {AWAY_SECONDS:.0f} s; {ended} sessions ended; back after {seconds:.1f} s"


def restart(stage: Stage) -> str:
    """Kills ZooKeeper and starts it at once."""
    server = stage.cluster.zookeeper
    server.kill()
    assert not server.answers()
    server.start()
    seconds = stage.cluster.await_healed(TOPIC)
    return f"restarted; in sync after {seconds:.1f} s"


def away(stage: Stage) -> str:
    """Kills ZooKeeper for three sessions."""
    stage.cluster.zookeeper.kill()
    acknowledged = stage.load.acknowledged
    _is_silent(stage, AWAY_SECONDS)
    more = stage.load.acknowledged - acknowledged
    stage.cluster.zookeeper.start()
    seconds = stage.cluster.await_healed(TOPIC)
    return f"away for {AWAY_SECONDS:.0f} s, {more} records meanwhile; back after {seconds:.1f} s"


FAULTS = (
    Fault("zookeeper-paused", 22, pause),
    Fault("zookeeper-restarted", 22, restart),
    Fault("zookeeper-away", 23, away),
)
