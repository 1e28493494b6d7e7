"""Rounds over peers and rows: each peer is started once for all rows with the same promise."""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from servers import touch_memory

from study.errors import PeerError, StudyError
from study.peers.peer import Mode, Peer
from study.plan import Scale
from study.processes import check_room, is_running
from study.results import Measurement, Store
from study.rows.row import Cell, Row, Subject, sync

MODES: tuple[Mode, ...] = ("cached", "flushed")


@dataclass
class Runner:
    """A study: peers, rows and the folder with the data of running peers."""

    scale: Scale
    peers: Sequence[Peer]
    rows: Sequence[Row]
    store: Store
    data: Path
    missing: dict[str, str] = field(default_factory=dict)
    rounds_done: int = 0

    def run(self) -> None:
        """Runs the rounds, as many as there is time for, and at least one."""
        began = time.monotonic()
        for number in range(self.scale.rounds):
            since = time.monotonic()
            # Every other round in reverse, so that no peer is always measured first.
            for peer in self.peers if number % 2 == 0 else reversed(self.peers):
                self._measure_peer(peer, number)
            self.rounds_done += 1
            now = time.monotonic()
            limit = self.scale.minutes
            if limit is not None and now - began + (now - since) > limit * 60:
                break

    def _measure_peer(self, peer: Peer, number: int) -> None:
        if peer.name in self.missing:
            return
        for mode in MODES:
            rows = [row for row in self.rows if row.mode == mode and not row.starts_peer]
            alone = [row for row in self.rows if row.mode == mode and row.starts_peer]
            try:
                for row in alone:
                    self._measure_alone(peer, row, number)
                if peer.has_one_log:
                    for row in rows:
                        self._session(peer, [row], mode, number)
                else:
                    self._session(peer, rows, mode, number)
            except PeerError as error:
                message = f"{peer.title} {error}"
                if peer.is_required:
                    raise PeerError(message) from error
                self.missing[peer.name] = message
                print(message, file=sys.stderr)
                return

    def _session(self, peer: Peer, rows: Sequence[Row], mode: Mode, number: int) -> None:
        due = [
            (row, subject)
            for row in rows
            for subject in row.subjects(peer)
            if not self._is_kept(row, subject, number)
        ]
        if not due:
            return
        check_room(self.data, self.scale.room)
        if self.scale.is_synced:
            touch_memory()
        with self._folder() as folder, peer.running(mode, folder) as running:
            for row, subject in due:
                topic = f"{row.name}-{subject.client}"
                cell = Cell(subject, mode, folder, self.scale, topic, running)
                self._measure(row, cell, number)
                if not is_running(running.pids[0]):
                    raise PeerError(f"ended while {row.name} was measured")

    def _measure_alone(self, peer: Peer, row: Row, number: int) -> None:
        for subject in row.subjects(peer):
            if not self._is_kept(row, subject, number):
                check_room(self.data, self.scale.room)
                with self._folder() as folder:
                    cell = Cell(subject, row.mode, folder, self.scale, row.name)
                    self._measure(row, cell, number)

    def _measure(self, row: Row, cell: Cell, number: int) -> None:
        if self.scale.is_synced:
            sync()
        empty = self._measurement(row, cell.subject, number)
        began = time.monotonic()
        try:
            outcome = row.measure(cell)
            measured = replace(empty, figures=outcome.figures, series=outcome.series)
            said = f"{row.figure} {outcome.figures[row.figure]:,.0f}"
        except PeerError:
            raise
        except (StudyError, subprocess.SubprocessError, OSError) as error:
            measured = replace(empty, error=str(error))
            said = f"FAILED: {error}"
        self.store.save(measured)
        took = time.monotonic() - began
        where = f"round {number + 1}, {cell.subject.key}, {row.name}"
        print(f"{where}: {said} ({took:.1f} s)", file=sys.stderr, flush=True)

    def _measurement(self, row: Row, subject: Subject, number: int) -> Measurement:
        # The same types as after a round trip through JSON.
        scale = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in self.scale.as_json().items()
            if name not in ("rounds", "minutes")
        }
        return Measurement(row.name, subject.peer.name, subject.client, number, scale)

    def _is_kept(self, row: Row, subject: Subject, number: int) -> bool:
        return self.store.find(self._measurement(row, subject, number)) is not None

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        """An empty folder for a peer's data, removed at the end of the block."""
        self.data.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="peer-", dir=self.data))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
