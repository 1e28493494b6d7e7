"""Histories in files: one operation per line of JSON."""

import json
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from faults.history.operations import (
    Assign,
    End,
    Event,
    History,
    Operation,
    Outcome,
    Poll,
    Record,
    Seen,
    Send,
)


class Writer:
    """Appends operations to a file; several threads may use it."""

    def __init__(self, path: Path) -> None:
        """Creates the file, or goes on with it."""
        self._file = path.open("a")
        self._lock = threading.Lock()

    def write(self, operation: Operation) -> None:
        """Appends an operation."""
        self._append(as_dict(operation))

    def note_repeating(self, process: int) -> None:
        """Notes that retries of this process may repeat a record."""
        self._append({"op": "repeating", "process": process})

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _append(self, fields: dict[str, Any]) -> None:
        line = json.dumps(fields, separators=(",", ":")) + "\n"
        with self._lock:
            self._file.write(line)


def as_dict(operation: Operation) -> dict[str, Any]:
    """The fields of an operation's line."""
    match operation:
        case Send(process, partition, invoked, returned, records):
            rows: list[Any] = [_row(record) for record in records]
            where = {"process": process, "partition": partition}
            return {"op": "send", **where, "at": [invoked, returned], "records": rows}
        case Poll(process, invoked, returned, seen, final):
            rows = [[s.partition, s.offset, s.value] for s in seen]
            fields = {"op": "poll", "process": process, "at": [invoked, returned]}
            return {**fields, "records": rows, "final": final}
        case Assign(process, at, subscribed):
            return {"op": "assign", "process": process, "at": at, "subscribed": subscribed}
        case End(process, partition, invoked, returned, offset):
            where = {"process": process, "partition": partition}
            return {"op": "end", **where, "at": [invoked, returned], "offset": offset}
        case Event(at, name):
            return {"op": "event", "at": at, "name": name}


def _row(record: Record) -> list[Any]:
    error = [] if record.error is None else [record.error]
    return [record.value, record.outcome, record.offset, *error]


def _operation(fields: dict[str, Any]) -> Operation:
    invoked, returned = fields["at"] if isinstance(fields["at"], list) else (0, 0)
    match fields["op"]:
        case "send":
            rows = tuple(Record(v, Outcome(o), *more) for v, o, *more in fields["records"])
            return Send(fields["process"], fields["partition"], invoked, returned, rows)
        case "poll":
            seen = tuple(Seen(*row) for row in fields["records"])
            return Poll(fields["process"], invoked, returned, seen, fields["final"])
        case "assign":
            return Assign(fields["process"], fields["at"], fields["subscribed"])
        case "end":
            where = (fields["process"], fields["partition"])
            return End(*where, invoked, returned, fields["offset"])
        case "event":
            return Event(fields["at"], fields["name"])
        case other:
            message = f"unknown operation {other!r}"
            raise ValueError(message)


def parsed(lines: Iterable[str]) -> History:
    """The history in these lines."""
    history = History()
    for line in lines:
        fields = json.loads(line)
        if fields["op"] == "repeating":
            history.repeating.add(fields["process"])
        else:
            history.add(_operation(fields))
    history.sort()
    return history


def read(*paths: Path) -> History:
    """The history in these files together."""
    return parsed(line for path in paths for line in path.read_text().splitlines())
