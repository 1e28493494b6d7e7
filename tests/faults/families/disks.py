"""Disks that are replaced by empty ones or older copies."""

import os
import shutil
from pathlib import Path

from faults.stage import RECORDS, Fault, Stage


def empty_disk(stage: Stage) -> str:
    """Kills a leader, which returns without its data, and must not lead without all records."""
    number = stage.leader()
    before = _directory(stage, number)
    stage.broker(number).kill()
    effect = stage.await_without(number)
    stage.broker(number).empty_disk()
    stage.broker(number).start()
    assert _directory(stage, number) != before, "the disk is the same"
    return f"{effect}; it returned on an empty disk"


def older_disk(stage: Stage) -> str:
    """Kills a leader, which returns on a copy of its disk from before the last records."""
    number = stage.leader()
    broker = stage.broker(number)
    broker.kill()
    copy = broker.data.with_suffix(".copy")
    shutil.copytree(broker.data, copy)
    broker.start()
    stage.load.await_more(RECORDS)
    broker.kill()
    effect = stage.await_without(number)
    broker.empty_disk()
    move_entries(copy, broker.data)
    broker.start()
    return f"{effect}; it returned on an older copy of its disk"


def move_entries(source: Path, target: Path) -> None:
    """Moves everything in a folder to another one; the folders may be mounted file systems.

    It is durable on return: a later loss of power must not take what a broker has found there.
    """
    target.mkdir(exist_ok=True)
    for entry in list(source.iterdir()):
        shutil.move(entry, target / entry.name)
    os.sync()


def _directory(stage: Stage, number: int) -> bytes:
    node = stage.cluster.node(f"/streamlog/brokers/{number}")
    assert node is not None
    return node.value


FAULTS = (
    Fault("emptied-disk", 19, empty_disk),
    Fault("older-disk", 19, older_disk),
)
