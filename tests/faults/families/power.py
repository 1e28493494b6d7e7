"""Machines that lose power, with everything that has not reached the disk."""

from faults.ground.cluster import IDS
from faults.stage import TOPIC, Fault, Stage


def _cut(stage: Stage, *numbers: int) -> None:
    # Killed first: a flush under way while a file system shuts down may return falsely.
    for number in numbers:
        stage.broker(number).kill()
    for number in numbers:
        stage.cluster.volumes[number].cut_power()
    for number in numbers:
        stage.cluster.volumes[number].remount()


def lose_power(stage: Stage) -> str:
    """Cuts the power of a leader."""
    number = stage.leader()
    _cut(stage, number)
    effect = stage.await_without(number)
    stage.broker(number).start()
    return effect


def lose_all_power(stage: Stage) -> str:
    """Cuts the power of all brokers at once."""
    _cut(stage, *IDS)
    stage.load.await_standstill()
    for number in stage.random.sample(IDS, len(IDS)):
        stage.broker(number).start()
    seconds = stage.cluster.await_healed(TOPIC)
    return f"nothing was acknowledged; in sync {seconds:.1f} s after the last start"


FAULTS = (
    Fault("power-loss", 15, lose_power, volumes=True),
    Fault("power-loss-of-all", 17, lose_all_power, volumes=True),
)
