"""The broker's process."""

import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self


class Broker:
    """Runs `python -m streamlog.broker` on a free port, which is kept after restarts."""

    def __init__(self, data_dir: Path) -> None:
        """Keeps all data below `data_dir`."""
        self.data_dir = data_dir
        self.address = "127.0.0.1:0"
        self.restart_seconds = 0.0
        self.process = self.start()

    def start(self) -> "subprocess.Popen[str]":
        """Starts it and waits until it is ready."""
        command = [sys.executable, "-m", "streamlog.broker", "--listen", self.address]
        command += ["--data-dir", str(self.data_dir)]
        with self.data_dir.with_suffix(".log").open("ab") as log:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert process.stdout is not None
        ready = process.stdout.readline()
        if not ready.startswith("ready "):
            process.kill()
            raise SystemExit(f"the broker did not start: see {log.name}")
        self.address = ready.split()[1]
        return process

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    def crash_and_restart(self) -> None:
        """Kills it with SIGKILL, so that it can save nothing, and restarts it on its data."""
        self.process.kill()
        self.process.wait()
        begin = time.monotonic()
        self.process = self.start()
        self.restart_seconds = time.monotonic() - begin

    def __enter__(self) -> Self:
        """Returns the broker, which is running already."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stops it."""
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise SystemExit("the broker did not stop within 10 seconds") from error
