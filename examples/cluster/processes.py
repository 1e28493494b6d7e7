"""Processes that outlive the command that starts them, each known by a file with its id."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

START_SECONDS = 60.0
STOP_SECONDS = 30.0


@dataclass(frozen=True)
class Process:
    """A process of the cluster, running or not."""

    name: str
    command: list[str]
    log: Path
    # Tells from its output whether it is ready.
    is_ready: Callable[[bytes], bool]

    @property
    def _id_file(self) -> Path:
        return self.log.with_suffix(".pid")

    @property
    def is_running(self) -> bool:
        """Returns whether the process of an earlier start runs."""
        return self._id() is not None

    def start(self) -> str:
        """Starts it and waits until it is ready; returns its state."""
        running = self._id()
        if running is not None:
            return f"{self.name:10} runs already, process {running}"
        with self.log.open("ab") as log:
            # The log also has the output of earlier processes.
            size = log.tell()
            started = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._id_file.write_text(str(started.pid))
        deadline = time.monotonic() + START_SECONDS
        while not self.is_ready(self.log.read_bytes()[size:]):
            if started.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"{self.name} does not start: see {self.log}")
            time.sleep(0.05)
        return f"{self.name:10} started, process {started.pid}"

    def stop(self) -> str:
        """Asks it to stop and waits for its end; returns its state."""
        running = self._id()
        if running is None:
            return f"{self.name:10} does not run"
        os.kill(running, signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        while self._id() == running:
            if time.monotonic() > deadline:
                raise SystemExit(f"{self.name}, process {running}, does not stop: see {self.log}")
            time.sleep(0.05)
        self._id_file.unlink()
        return f"{self.name:10} stopped"

    def _id(self) -> int | None:
        """The id of the running process; another process may have got the id since."""
        try:
            number = int(self._id_file.read_text())
            arguments = Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError):
            return None
        return number if self.command[-1].encode() in arguments else None
