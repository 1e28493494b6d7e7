"""Loads without Spark, in processes that are killed at a chosen point, and their results."""

import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from multiprocessing import forkserver, get_context
from multiprocessing.connection import Connection as Sender
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import pyarrow.dataset

import streamlog
from streamlog.spark.offline.job import Job, Outcome
from streamlog.spark.offline.ledger import Ledger
from streamlog.spark.offline.loading import Load, Loading
from streamlog.spark.offline.planning import Choice
from streamlog.spark.offline.writing import write_range
from streamlog.spark.options import Connection

Row = tuple[str, int, int, bytes]
"""Topic, partition, offset, value."""

_CONTEXT = get_context("forkserver")
_CHANGES = {"open", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir"}


def load_here(
    address: str,
    path: Path,
    topics: Sequence[str],
    offsets_per_file: int = 20,
    fail_on_data_loss: bool = True,
) -> Load:
    """Runs a load whose tasks run in this process, one after the other."""
    connection = Connection.of(address, {})
    loading = Loading(connection, Ledger(path), "zstd", fail_on_data_loss, offsets_per_file)
    return loading.run(Choice(tuple(topics)), in_turn)


def in_turn(job: Job, indexes: Sequence[int]) -> list[Outcome]:
    """Executes ranges without Spark."""
    return [write_range(job, index) for index in indexes]


def start_forking() -> None:
    """Starts the fork server for processes of loads, with all modules imported."""
    _CONTEXT.set_forkserver_preload(["spark.support.loads"])
    # The fork server imports modules before it gets the parent's module path.
    with patch.dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)):
        forkserver.ensure_running()


def load_and_die(address: str, path: Path, topic: str, point: int) -> bool:
    """Runs a load in a process killed before its `point`th change of a file; returns if it was."""
    process = _started(_load_until, address, str(path), topic, point)
    process.join(100)
    assert process.exitcode in (0, -signal.SIGKILL), f"exit code {process.exitcode}"
    return process.exitcode != 0


def peak_of_a_load(address: str, path: Path, topic: str) -> int:
    """Returns the peak memory in bytes of a process that has loaded a topic."""
    receiver, sender = _CONTEXT.Pipe(duplex=False)
    process = _started(_load_and_tell, address, str(path), topic, sender)
    process.join(100)
    assert process.exitcode == 0
    peak = receiver.recv()
    assert isinstance(peak, int)
    return peak


def _started(work: Callable[..., None], *arguments: object) -> ForkServerProcess:
    """Starts a process that does not import the test runner's main module.

    The main module would import others, among them this folder's `py` under another meaning.
    """
    runner = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        process = _CONTEXT.Process(target=work, args=arguments)
        process.start()
    finally:
        sys.modules["__main__"] = runner
    return process


def _load_until(address: str, path: str, topic: str, point: int) -> None:
    changes = 0

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal changes
        # Opening a file for reading counts too: a few more points do not matter.
        if event in _CHANGES and str(arguments[0]).startswith(path):
            changes += 1
            if changes == point:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    load_here(address, Path(path), [topic])


def _load_and_tell(address: str, path: str, topic: str, sender: Sender) -> None:
    load_here(address, Path(path), [topic], offsets_per_file=10**9)
    status = Path("/proc/self/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    sender.send(int(peak.split()[1]) * 1024)


def publish(client: streamlog.Client, topic: str, records: int, hours: float = 1.0) -> None:
    """Publishes unique values at intervals of hours, the last of them now."""
    partitions = client.topic(topic).partitions()
    last = datetime.now(UTC)
    before = sum(end or 0 for end in client.topic(topic).end_offsets().values())
    with client.producer() as producer:
        for number in range(records):
            time = last - timedelta(hours=hours * (records - 1 - number))
            value = b"%s %d" % (topic.encode(), before + number)
            producer.send(topic, value, partition=number % partitions, timestamp=time)


def rows_of_log(client: streamlog.Client, topics: Sequence[str]) -> Counter[Row]:
    """Returns the rows of the topics."""
    return Counter(
        (message.topic, message.partition, message.offset, message.value or b"")
        for topic in topics
        for message in client.topic(topic).read()
    )


def rows_of_files(path: Path) -> Counter[Row]:
    """Returns the rows as a reader of Parquet without knowledge of loads sees them."""
    if not path.is_dir():
        return Counter()
    dataset = pyarrow.dataset.dataset(str(path), format="parquet", partitioning="hive")
    if not dataset.files:
        return Counter()
    columns = dataset.to_table(columns=["topic", "partition", "offset", "value"])
    return Counter(zip(*(column.to_pylist() for column in columns.columns), strict=True))


def assert_each_once(seen: Counter[Row], published: Counter[Row]) -> None:
    """Checks that no row is duplicated, and that every row was published."""
    twice = [row for row, count in seen.items() if count > 1]
    assert twice == []
    assert seen.keys() <= published.keys()
