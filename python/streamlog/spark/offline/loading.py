"""A load: finishes an interrupted plan, then plans new records and executes that plan."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from streamlog.errors import ConfigError, MissingExtra, TopicNotFound
from streamlog.spark.clients import client_of
from streamlog.spark.offline.job import Job, Outcome
from streamlog.spark.offline.ledger import Ledger
from streamlog.spark.offline.plan import Loss, Plan
from streamlog.spark.offline.planning import Choice, lost, make_plan
from streamlog.spark.offline.tasks import Executor, on_spark
from streamlog.spark.options import PATIENCE, Connection
from streamlog.spark.patience import Patience, patiently

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from tqdm import tqdm

__all__ = ["Load", "Loading", "load"]

_BROKER_TIMEOUT = "broker_timeout (--broker-timeout)"
_REDRAW_SECONDS = 0.5
_COMPRESSIONS = ("zstd", "snappy", "gzip", "lz4", "none")


@dataclass(slots=True)
class Load:
    """The result of a load."""

    path: Path
    records: int = 0
    files: int = 0
    size: int = 0
    """Bytes of the files."""
    seconds: float = 0.0
    topics: dict[str, int] = field(default_factory=dict)
    """The records of each topic with new records."""
    losses: list[Loss] = field(default_factory=list)
    """Records that were deleted before they were loaded."""


def load(
    spark: "SparkSession",
    path: str | os.PathLike[str],
    *,
    bootstrap: str | None = None,
    subscribe: str | Sequence[str] | None = None,
    subscribe_pattern: str | None = None,
    fail_on_data_loss: bool = True,
    offsets_per_file: int = 1_000_000,
    compression: str = "zstd",
    progress: bool | None = None,
    broker_timeout: float = PATIENCE,
    config: Mapping[str, Any] | None = None,
) -> Load:
    """Copies the new records of topics into Parquet files, each record exactly once.

    The first load copies all records; each later load resumes where the previous one ended. If
    a load is killed at any point, the next one finishes its work. Files are in
    ``path/topic=NAME/date=YYYY-MM-DD``, by the date of the record's timestamp in UTC, and
    appear as a whole; readers of Parquet see each record once, at any moment.

    Args:
        spark: The session whose executors do the work, classic or Connect.
        path: A folder of a file system that all executors have mounted; created if missing.
        bootstrap: As for ``streamlog.connect``.
        subscribe: Topics, as a list or separated by commas.
        subscribe_pattern: A regular expression for whole topic names; it never matches the
            internal topics of a query that writes exactly once.
        fail_on_data_loss: True to raise an error if records were deleted before they were loaded;
            otherwise the existing records are loaded, and ``losses`` lists the missing offsets.
        offsets_per_file: The maximal number of offsets for a task, which writes a file for each
            of their dates.
        compression: ``"zstd"``, ``"snappy"``, ``"gzip"``, ``"lz4"`` or ``"none"``.
        progress: True to show a progress bar on standard error; by default on a terminal.
        broker_timeout: Seconds to wait for unreachable brokers.
        config: Other settings of the client under Kafka's names.

    Raises:
        ConfigError: An option is invalid, or another load is running in this folder.
        ConnectError: No broker answered within ``broker_timeout``.
        TopicNotFound: A topic does not exist, or not any more.
        OffsetOutOfRange: Records were deleted before they were loaded.
        PythonException: Raised by Spark: a task failed, for example because brokers were
            unreachable; its text ends with the task's error.

    Example:
        >>> streamlog.spark.load(spark, folder, subscribe="orders").topics
        {'orders': 3}
        >>> streamlog.spark.load(spark, folder, subscribe="orders").records
        0
    """
    if compression not in _COMPRESSIONS:
        message = f"compression: invalid value '{compression}': expected {', '.join(_COMPRESSIONS)}"
        raise ConfigError(message)
    if offsets_per_file < 1:
        raise ConfigError(f"offsets_per_file: invalid value {offsets_per_file}: expected 1 or more")
    if not broker_timeout >= 0:
        raise ConfigError(f"broker_timeout: invalid value {broker_timeout:g}: expected 0 or more")
    choice = Choice.of(subscribe, subscribe_pattern)
    connection = Connection.of(bootstrap, config or {}, broker_timeout, _BROKER_TIMEOUT)
    loading = Loading(connection, Ledger(path), compression, fail_on_data_loss, offsets_per_file)
    return loading.run(choice, on_spark(spark), progress)


@dataclass(frozen=True, slots=True)
class Loading:
    """A running load."""

    connection: Connection
    ledger: Ledger
    compression: str
    fail_on_data_loss: bool
    offsets_per_file: int

    def run(self, choice: Choice, execute: Executor, progress: bool | None = False) -> Load:
        """Finishes an interrupted plan, then loads new records.

        Args:
            choice: The topics.
            execute: The function that carries out the ranges of plans.
            progress: Whether to show a bar; None shows it on a terminal.
        """
        began = time.monotonic()
        load = Load(self.ledger.path)
        client = client_of(self.connection)
        with self.ledger.held(patiently(self.connection, lambda: client.admin.cluster().id)):
            self.ledger.sweep()
            unfinished = self.ledger.unfinished()
            if unfinished is not None:
                self._carry_out(unfinished, execute, progress, load)
            plan = self._plan(choice)
            if plan.ranges or plan.losses or plan.places != self.ledger.places():
                self.ledger.begin(plan)
                self._carry_out(plan, execute, progress, load)
        load.seconds = time.monotonic() - began
        return load

    def _plan(self, choice: Choice) -> Plan:
        client, newest = client_of(self.connection), self.ledger.newest()
        fails, patience = self.fail_on_data_loss, Patience(self.connection)
        known = {} if newest is None else newest.places
        while True:
            try:
                plan = patience.through(lambda: make_plan(client, choice, newest, fails))
                break
            except TopicNotFound as error:
                absence = f"topic '{error.topic}' is absent"
                if error.topic not in known or not patience.outlasts(absence):
                    raise
        parts = [piece for part in plan.ranges for piece in part.split(self.offsets_per_file)]
        return Plan(plan.number, parts, plan.places, plan.losses)

    def _carry_out(self, plan: Plan, execute: Executor, progress: bool | None, load: Load) -> None:
        receipts = self._receipts(plan)
        left = [index for index in range(len(plan.ranges)) if index not in receipts]
        job = Job(
            self.connection, str(self.ledger.path), plan, self.compression, self.fail_on_data_loss
        )
        if left:
            with self._watched(plan, progress):
                outcomes = list(execute(job, left))
            for outcome in outcomes:
                if not outcome.is_done:
                    raise lost(outcome.losses[0])
            receipts |= {outcome.index: outcome for outcome in outcomes}
        missing = set(range(len(plan.ranges))) - receipts.keys()
        assert not missing, f"ranges {sorted(missing)} of plan {plan.number} have no outcome"
        done = Load(self.ledger.path, losses=list(plan.losses))
        for index, outcome in receipts.items():
            _count(done, plan.ranges[index].topic, outcome)
        self.ledger.finish(plan, _summary(done))
        _join(load, done)

    def _receipts(self, plan: Plan) -> dict[int, Outcome]:
        kept = self.ledger.receipts(plan)
        return {index: Outcome.from_json(text) for index, text in kept.items()}

    @contextmanager
    def _watched(self, plan: Plan, progress: bool | None) -> Iterator[None]:
        """Shows the progress of a plan, by the receipts of its tasks."""
        if progress is False:
            yield
            return
        bar_of = _bar_class()
        over = Event()
        # For tqdm, None hides the bar if standard error is not a terminal.
        is_hidden = None if progress is None else not progress
        offsets = plan.offsets()
        with bar_of(total=offsets, unit=" offsets", disable=is_hidden, leave=False) as bar:

            def watch() -> None:
                while not over.wait(_REDRAW_SECONDS):
                    done = self._receipts(plan)
                    records = sum(outcome.records for outcome in done.values())
                    bar.set_postfix_str(f"{records:,} records", refresh=False)
                    bar.n = sum(plan.offsets(index) for index in done)
                    bar.refresh()

            watcher = Thread(target=watch, name="streamlog-load", daemon=True)
            if not bar.disable:
                watcher.start()
            try:
                yield
            finally:
                over.set()
                if watcher.is_alive():
                    watcher.join()


def _bar_class() -> "type[tqdm]":
    """Returns the class of progress bars; tqdm is imported only where a bar is shown.

    Raises:
        MissingExtra: It is not installed.
    """
    try:
        module = import_module("tqdm")
    except ImportError as error:
        message = "the bar of a load needs tqdm: pip install tqdm, or load with progress=False"
        raise MissingExtra(message) from error
    found: type[tqdm] = module.tqdm
    return found


def _count(load: Load, topic: str, outcome: Outcome) -> None:
    load.records += outcome.records
    load.files += outcome.files
    load.size += outcome.size
    load.losses += outcome.losses
    if outcome.records:
        load.topics[topic] = load.topics.get(topic, 0) + outcome.records


def _join(load: Load, more: Load) -> None:
    load.records += more.records
    load.files += more.files
    load.size += more.size
    load.losses += more.losses
    for topic, records in more.topics.items():
        load.topics[topic] = load.topics.get(topic, 0) + records


def _summary(load: Load) -> dict[str, Any]:
    return {
        "records": load.records,
        "files": load.files,
        "size": load.size,
        "topics": load.topics,
        "losses": [str(loss) for loss in load.losses],
    }
