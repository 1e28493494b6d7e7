"""Start and memory: from the start of the process to the first acknowledgement, and idle."""

import time
from collections.abc import Iterator
from dataclasses import replace

from study.clients import Produce
from study.clients.client import Outcome
from study.plan import Scale
from study.processes import resident_bytes, wake_ups
from study.rows.row import Cell, Row

MIB = 1 << 20


def rows(scale: Scale) -> Iterator[Row]:
    """Yields the rows of the family."""
    yield Row(
        "start",
        "start on an empty directory, until it accepts requests",
        "lifecycle",
        "cached",
        start,
        figure="start_ms",
        starts_peer=True,
    )


def start(cell: Cell) -> Outcome:
    """Measures the start, the idle peer, and its memory after some work."""
    began = time.monotonic()
    with cell.started() as running:
        figures = {"start_ms": (time.monotonic() - began) * 1000}
        time.sleep(cell.scale.idle_seconds)
        before = wake_ups(running.pids)
        time.sleep(cell.scale.idle_seconds)
        figures["wake_ups_per_second"] = max(
            0.0, (wake_ups(running.pids) - before) / cell.scale.idle_seconds
        )
        figures["idle_mib"] = resident_bytes(running.pids) / MIB
        batch = 50 if cell.peer.has_batches else 1
        replace(cell, running=running).produce(Produce(cell.scale.records, batch=batch))
        figures["used_mib"] = resident_bytes(running.pids) / MIB
    return Outcome(figures, [])
