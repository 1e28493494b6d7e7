"""Full outages: all brokers end at once, and one of them returns with less than it had.

Whoever returns first, and however long before the others, no acknowledged record is lost: the disk
of one broker may lack its log, its end, or everything since an older copy was made, and the state
of a partition in ZooKeeper may be nonsense or gone.
"""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from faults.families.edits import state_path
from faults.ground.broker import ELECTION_WAIT_SECONDS, Broker
from faults.ground.cluster import IDS, TREE
from faults.stage import PARTITIONS, RECORDS, TOPIC, Fault, Stage, others

Loss = Callable[[Stage, Broker, Path], str]
"""A loss of a disk of which there is an older copy; tells it, and fails if nothing was lost."""


def _kill_all(stage: Stage) -> None:
    for number in stage.random.sample(IDS, len(IDS)):
        stage.broker(number).send_kill()
    for number in IDS:
        stage.broker(number).kill()
    stage.load.await_standstill()


def _segments(broker: Broker) -> list[Path]:
    """The last segment of each partition, in a broker that does not run."""
    folders = [broker.data / f"{TOPIC}-{partition}" for partition in range(PARTITIONS)]
    return [max(folder.glob("*.log")) for folder in folders]


def no_loss(_stage: Stage, _broker: Broker, _older: Path) -> str:
    """Loses nothing."""
    return "nothing was lost"


def lose_folders(_stage: Stage, broker: Broker, _older: Path) -> str:
    """Loses the folders of all partitions."""
    for segment in _segments(broker):
        shutil.rmtree(segment.parent)
    return "its folders were gone"


def lose_segments(_stage: Stage, broker: Broker, _older: Path) -> str:
    """Loses all segments; the folders stay."""
    count = 0
    for segment in _segments(broker):
        for file in segment.parent.glob("*.log"):
            file.unlink()
            count += 1
    assert count >= PARTITIONS
    return f"{count} segments were gone"


def lose_ends(stage: Stage, broker: Broker, _older: Path) -> str:
    """Loses the end of each log, cut at a random byte."""
    lost = 0
    for segment in _segments(broker):
        size = segment.stat().st_size
        kept = stage.random.randrange(size)
        with segment.open("r+b") as file:
            file.truncate(kept)
        lost += size - kept
    assert lost > 0
    return f"{lost} bytes were cut off"


def return_to_copy(_stage: Stage, broker: Broker, older: Path) -> str:
    """Loses everything since a copy of the whole disk was made."""
    before = sum(segment.stat().st_size for segment in _segments(broker))
    shutil.rmtree(broker.data)
    older.rename(broker.data)
    after = sum(segment.stat().st_size for segment in _segments(broker))
    assert after != before, "nothing was written since the copy"
    return "it was an older copy of its disk"


def _outage(lose: Loss, *, alone: bool) -> Callable[[Stage], str]:
    """An outage of all brokers; the one with the loss returns first in half of the runs.

    With `alone`, it returns first and the others only once it was elected without them.
    """

    def happen(stage: Stage) -> str:
        number = stage.leader()
        broker = stage.broker(number)
        older = broker.data.with_suffix(".older")
        # A file may be renamed or removed while it is copied; the copy is as torn as a backup is.
        shutil.copytree(broker.data, older, ignore_dangling_symlinks=True, copy_function=_copy)
        stage.load.await_more(RECORDS)
        _kill_all(stage)
        epochs = {p: state.epoch for p, state in stage.cluster.states(TOPIC).items()}
        lost = lose(stage, broker, older)
        first = alone or stage.random.random() < 0.5
        rest = stage.random.sample(others(number), len(IDS) - 1)
        order = [number, *rest] if first else [rest[0], number, rest[1]]
        for place, returning in enumerate(order):
            stage.broker(returning).start()
            if place == 0:
                time.sleep(ELECTION_WAIT_SECONDS + 2.0 if alone else stage.random.uniform(0, 2))
        seconds = stage.cluster.await_healed(TOPIC)
        states = stage.cluster.states(TOPIC)
        assert all(states[p].epoch > epoch for p, epoch in epochs.items()), "nobody was elected"
        shutil.rmtree(older, ignore_errors=True)
        return f"broker {number}: {lost}; they returned as {order}, in sync after {seconds:.1f} s"

    return happen


def _edited(lose: Loss, edit: Callable[[Stage, int], Callable[[], None]]) -> Callable[[Stage], str]:
    """An outage of all brokers during which the state of a partition is edited.

    The other partitions go on without it; then it is mended.
    """

    def happen(stage: Stage) -> str:
        number, partition = stage.leader(), stage.random.randrange(PARTITIONS)
        broker = stage.broker(number)
        older = broker.data.with_suffix(".older")
        shutil.copytree(broker.data, older, ignore_dangling_symlinks=True, copy_function=_copy)
        stage.load.await_more(RECORDS)
        _kill_all(stage)
        mend = edit(stage, partition)
        lost = lose(stage, broker, older)
        order = stage.random.sample(IDS, len(IDS))
        for returning in order:
            stage.broker(returning).start()
        stage.load.await_more(RECORDS)
        assert state_path(partition).removeprefix(TREE) in stage.cluster.problems()
        mend()
        seconds = stage.cluster.await_healed(TOPIC)
        shutil.rmtree(older, ignore_errors=True)
        return (
            f"broker {number}: {lost}; partition {partition} without a state; they returned as "
            f"{order}, in sync {seconds:.1f} s after it was mended"
        )

    return happen


def _garble(stage: Stage, partition: int) -> Callable[[], None]:
    """Overwrites the state of a partition; the returned call puts back what was there."""
    path = state_path(partition)
    with stage.cluster.zookeeper.session() as session:
        node = session.get(path)
        assert node is not None
        value = node.value
        session.set(path, b"{nonsense")

    def mend() -> None:
        with stage.cluster.zookeeper.session() as session:
            session.set(path, value)

    return mend


def _delete(stage: Stage, partition: int) -> Callable[[], None]:
    """Deletes the state of a partition; the returned call has the brokers make it again."""
    with stage.cluster.zookeeper.session() as session:
        session.delete(state_path(partition))

    def mend() -> None:
        place = f"{TOPIC}-{partition}"
        stage.cluster.command("partition", "rebuild-state", place, "--yes")

    return mend


def _copy(source: str, target: str) -> None:
    """Copies a file unless it is gone by now."""
    try:
        shutil.copy2(source, target)
    except FileNotFoundError:
        return


FAULTS = (
    Fault("outage", 24, _outage(no_loss, alone=False)),
    Fault("outage-without-folders", 24, _outage(lose_folders, alone=False)),
    Fault("outage-without-segments", 24, _outage(lose_segments, alone=False)),
    Fault("outage-with-cut-logs", 24, _outage(lose_ends, alone=False)),
    Fault("outage-with-older-copy", 24, _outage(return_to_copy, alone=False)),
    Fault("outage-alone-without-folders", 24, _outage(lose_folders, alone=True)),
    Fault("outage-alone-with-cut-logs", 24, _outage(lose_ends, alone=True)),
    Fault("outage-alone-with-older-copy", 24, _outage(return_to_copy, alone=True)),
    Fault("outage-with-nonsense-state", 24, _edited(no_loss, _garble)),
    Fault("outage-with-nonsense-state-and-cut-logs", 24, _edited(lose_ends, _garble)),
    Fault("outage-with-deleted-state", 24, _edited(no_loss, _delete)),
    Fault("outage-with-deleted-state-and-older-copy", 24, _edited(return_to_copy, _delete)),
)
