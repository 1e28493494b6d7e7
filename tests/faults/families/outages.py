"""Outages: one to all brokers end at once, and one of them returns with less than it had.

Whoever returns first, and however long before the others, no acknowledged record is lost: the disk
of one broker may lack its log, its end, or everything since an older copy was made, and the state
of a partition in ZooKeeper may be nonsense or gone. A broker that is given the disk of another one
does not start.
"""

import hashlib
import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from faults.families.disks import move_entries
from faults.families.edits import state_path
from faults.ground.broker import ELECTION_WAIT_SECONDS, Broker
from faults.ground.cluster import IDS, TREE
from faults.stage import PARTITIONS, RECORDS, TOPIC, Fault, Stage, others
from faults.topics import TopicKind

Loss = Callable[[Stage, Broker, Path], str]
"""A loss of a disk of which there is an older copy; tells it, and fails if nothing was lost."""
IN_SYNC_MIN = 2
"""The default of `min.insync.replicas` with three replicas."""
REFUSED = 1
"""The exit code of a broker that cannot start, as its last line of output explains."""
LOCK = ".lock"


def _kill(stage: Stage, numbers: Iterable[int]) -> None:
    """Kills brokers at once, in a random order."""
    order = list(numbers)
    stage.random.shuffle(order)
    for number in order:
        stage.broker(number).send_kill()
    for number in order:
        stage.broker(number).kill()


def _kill_all(stage: Stage) -> None:
    _kill(stage, IDS)
    stage.load.await_standstill()


def _copy_of(stage: Stage, broker: Broker) -> Path:
    """A copy of the disk of a running broker.

    A file may be renamed or removed while it is copied; the copy is as torn as a backup is. From a
    compacted log a torn copy may lack a whole segment, as if compaction had removed all its
    records. So there the broker stands still meanwhile, as for a snapshot of its file system.
    """
    older = broker.data.with_suffix(".older")
    is_snapshot = stage.topic is TopicKind.COMPACTED
    if is_snapshot:
        broker.pause()
    try:
        shutil.copytree(broker.data, older, ignore_dangling_symlinks=True, copy_function=_copy)
    finally:
        if is_snapshot:
            broker.resume()
    return older


def _return_in_order(stage: Stage, order: list[int]) -> None:
    """Starts brokers one after another; an election may pass between two of them, or none."""
    for place, number in enumerate(order):
        if place > 0:
            time.sleep(stage.random.uniform(0, ELECTION_WAIT_SECONDS + 2.0))
        stage.broker(number).start()


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
    broker.empty_disk()
    move_entries(older, broker.data)
    after = sum(segment.stat().st_size for segment in _segments(broker))
    assert after != before, "nothing was written since the copy"
    return "it was an older copy of its disk"


def _outage(lose: Loss, *, alone: bool) -> Callable[[Stage], str]:
    """An outage of all brokers, which return in a random order.

    With `alone`, the one with the loss returns first, and the others only once the time has passed
    after which it could be elected without them.
    """

    def happen(stage: Stage) -> str:
        number = stage.leader()
        broker = stage.broker(number)
        older = _copy_of(stage, broker)
        stage.load.await_more(RECORDS)
        _kill_all(stage)
        epochs = {p: state.epoch for p, state in stage.cluster.states(TOPIC).items()}
        lost = lose(stage, broker, older)
        order = stage.random.sample(IDS, len(IDS))
        if alone:
            order.remove(number)
            broker.start()
            time.sleep(ELECTION_WAIT_SECONDS + 2.0)
            for returning in order:
                stage.broker(returning).start()
            order.insert(0, number)
        else:
            _return_in_order(stage, order)
        back = _are_back(stage, epochs)
        shutil.rmtree(older, ignore_errors=True)
        return f"broker {number}: {lost}; they returned as {order}, {back}"

    return happen


def _partial(count: int, lose: Loss) -> Callable[[Stage], str]:
    """An outage of a number of brokers; the others hold everything, and one stays at least.

    The killed ones return at once, or only after they have left all in-sync sets. Two of them leave
    fewer than `min.insync.replicas`, so that nothing is acknowledged meanwhile.
    """
    assert 0 < count < len(IDS)

    def happen(stage: Stage) -> str:
        number = stage.leader()
        broker = stage.broker(number)
        killed = [number, *stage.random.sample(others(number), count - 1)]
        older = _copy_of(stage, broker)
        stage.load.await_more(RECORDS)
        stage.cluster.await_healed(TOPIC)
        before = stage.cluster.states(TOPIC)
        _kill(stage, killed)
        lost = lose(stage, broker, older)
        await_shrunk = stage.random.random() < 0.5
        if await_shrunk:
            _await_without(stage, killed)
        order = stage.random.sample(killed, count)
        _return_in_order(stage, order)
        seconds = stage.cluster.await_healed(TOPIC)
        states = stage.cluster.states(TOPIC)
        led = [p for p, state in before.items() if state.leader in killed]
        assert led, "the killed brokers have led nothing"
        assert all(states[p].epoch > before[p].epoch for p in led), "nobody was elected"
        shutil.rmtree(older, ignore_errors=True)
        when = "once out of sync" if await_shrunk else "at once"
        return (
            f"broker {number}: {lost}; killed, they returned {when} as {order}, "
            f"in sync after {seconds:.1f} s"
        )

    return happen


def _await_without(stage: Stage, killed: list[int]) -> None:
    """Waits until killed brokers are out of every in-sync set, and sees how the others go on."""
    for number in killed:
        stage.cluster.await_without(number, TOPIC)
    if len(IDS) - len(killed) < IN_SYNC_MIN:
        stage.load.await_standstill()
    else:
        stage.load.await_more(RECORDS)


def copied_disk(stage: Stage) -> str:
    """Gives a broker a copy of the disk of another one in an outage of all: it does not start.

    The others have returned by then in half of the runs.
    """
    number = stage.leader()
    source = stage.random.choice(others(number))
    broker = stage.broker(number)
    _kill_all(stage)
    epochs = {p: state.epoch for p, state in stage.cluster.states(TOPIC).items()}
    aside = broker.data.with_suffix(".aside")
    move_entries(broker.data, aside)
    shutil.copytree(stage.broker(source).data, broker.data, dirs_exist_ok=True)
    rest = stage.random.sample(others(number), len(IDS) - 1)
    is_first = stage.random.random() < 0.5
    if not is_first:
        _return_in_order(stage, rest)
    reason = _refused(stage, number, source)
    broker.empty_disk()
    move_entries(aside, broker.data)
    _return_in_order(stage, stage.random.sample(IDS, len(IDS)) if is_first else [number])
    when = "before" if is_first else "after"
    return f"refused {when} the others returned: {reason}; {_are_back(stage, epochs)}"


def swapped_disks(stage: Stage) -> str:
    """Exchanges the disks of two brokers in an outage of all: neither of them starts."""
    pair = stage.random.sample(IDS, 2)
    _kill_all(stage)
    epochs = {p: state.epoch for p, state in stage.cluster.states(TOPIC).items()}
    _swap(*(stage.broker(number).data for number in pair))
    reasons = [_refused(stage, one, other) for one, other in (pair, pair[::-1])]
    _swap(*(stage.broker(number).data for number in pair))
    _return_in_order(stage, stage.random.sample(IDS, len(IDS)))
    return f"refused: {'; '.join(reasons)}; {_are_back(stage, epochs)}"


def _swap(one: Path, other: Path) -> None:
    aside = one.with_suffix(".aside")
    move_entries(one, aside)
    move_entries(other, one)
    move_entries(aside, other)


def _refused(stage: Stage, number: int, owner: int) -> str:
    """Starts a broker on the disk of another one: it ends with an error, and changes no file."""
    broker = stage.broker(number)
    before, registered = _digests(broker), stage.cluster.incarnation(number)
    broker.launch()
    code = broker.await_end()
    reason = broker.new_log().strip().splitlines()[-1]
    assert code == REFUSED, f"broker {number} has ended with {code}: {reason}"
    expected = f"'{broker.data}' belongs to broker {owner}, not to broker {number}"
    assert expected in reason, reason
    assert _digests(broker) == before, "a refused broker has changed a file"
    assert stage.cluster.incarnation(number) in (0, registered), "a refused broker has registered"
    return reason.replace(str(broker.data), "DIR")


def _digests(broker: Broker) -> dict[str, bytes]:
    """The digest of each file on a disk but the lock, by its path on the disk."""
    files = (path for path in broker.data.rglob("*") if path.is_file() and path.name != LOCK)
    return {
        str(path.relative_to(broker.data)): hashlib.sha256(path.read_bytes()).digest()
        for path in files
    }


def _are_back(stage: Stage, epochs: dict[int, int]) -> str:
    """Waits until everything is in sync, under other leader epochs than before."""
    seconds = stage.cluster.await_healed(TOPIC)
    states = stage.cluster.states(TOPIC)
    assert all(states[p].epoch > epoch for p, epoch in epochs.items()), "nobody was elected"
    return f"in sync after {seconds:.1f} s"


def _edited(lose: Loss, edit: Callable[[Stage, int], Callable[[], None]]) -> Callable[[Stage], str]:
    """An outage of all brokers during which the state of a partition is edited.

    The other partitions go on without it; then it is mended.
    """

    def happen(stage: Stage) -> str:
        number, partition = stage.leader(), stage.random.randrange(PARTITIONS)
        broker = stage.broker(number)
        older = _copy_of(stage, broker)
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
    Fault("outage-of-one-without-segments", 24, _partial(1, lose_segments)),
    Fault("outage-of-one-with-cut-logs", 24, _partial(1, lose_ends)),
    Fault("outage-of-two-without-folders", 24, _partial(2, lose_folders)),
    Fault("outage-of-two-with-cut-logs", 24, _partial(2, lose_ends)),
    Fault("outage-of-two-with-older-copy", 24, _partial(2, return_to_copy)),
    Fault("outage-with-copied-disk", 24, copied_disk),
    Fault("outage-with-swapped-disks", 24, swapped_disks),
    Fault("outage-alone-without-folders", 24, _outage(lose_folders, alone=True)),
    Fault("outage-alone-with-cut-logs", 24, _outage(lose_ends, alone=True)),
    Fault("outage-alone-with-older-copy", 24, _outage(return_to_copy, alone=True)),
    Fault("outage-with-nonsense-state", 24, _edited(no_loss, _garble)),
    Fault("outage-with-nonsense-state-and-cut-logs", 24, _edited(lose_ends, _garble)),
    Fault("outage-with-deleted-state", 24, _edited(no_loss, _delete)),
    Fault("outage-with-deleted-state-and-older-copy", 24, _edited(return_to_copy, _delete)),
)
