"""A thread of the load, which works until it is told to stop."""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence

from faults.history.lines import Writer
from faults.history.operations import Outcome, Record, Send

FINISH_SECONDS = 90.0


class Worker(ABC):
    """A process of the history, in its own thread."""

    def __init__(self, process: int, writer: Writer) -> None:
        """Creates a worker that writes its operations to `writer`."""
        self.process = process
        self.writer = writer
        self.stopping = threading.Event()
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def finish(self) -> None:
        """Waits for the end of the thread, which has been told to stop; raises its failure."""
        self._thread.join(FINISH_SECONDS)
        assert not self._thread.is_alive(), f"process {self.process} does not end"
        if self.failure is not None:
            raise self.failure

    @abstractmethod
    def work(self) -> None:
        """Works until `stopping` is set."""

    def _run(self) -> None:
        try:
            self.work()
        except BaseException as error:
            self.failure = error


class Producing(Worker):
    """A producer, with the number of records that it knows to be written."""

    acknowledged = 0


class Pending:
    """A send of several records that waits for their outcomes."""

    def __init__(self, worker: Producing, partition: int, values: Sequence[int]) -> None:
        """Begins now."""
        self._worker = worker
        self._partition = partition
        self._values = values
        self._invoked = time.monotonic_ns()
        self._records: dict[int, Record] = {}

    @property
    def is_done(self) -> bool:
        """Returns whether every record has an outcome."""
        return len(self._records) == len(self._values)

    def settle(self, record: Record) -> None:
        """Notes the outcome of a record; the last one ends the operation."""
        self._records[record.value] = record
        if self.is_done:
            self._write()

    def abandon(self) -> None:
        """Ends the operation; records without an outcome may have been written."""
        for value in self._values:
            self._records.setdefault(value, Record(value, Outcome.UNKNOWN))
        self._write()

    def _write(self) -> None:
        records = tuple(self._records[value] for value in self._values)
        now = time.monotonic_ns()
        worker = self._worker
        send = Send(worker.process, self._partition, self._invoked, now, records)
        worker.writer.write(send)
        worker.acknowledged += sum(record.outcome is Outcome.OK for record in records)
