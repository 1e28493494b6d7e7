"""A broker as a separate process: started, stopped, killed, and restarted on the same data."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

READY_SECONDS = 20.0
STOP_SECONDS = 20.0


class BrokerProcess:
    """`python -m streamlog.broker` on a free port of the loopback interface.

    The port is chosen by the first start and kept by later ones, so that clients find the broker
    again after a kill.
    """

    def __init__(self, data_dir: Path, *options: str, env: dict[str, str] | None = None) -> None:
        """Keeps all data below `data_dir`; `options` are appended to the command line."""
        self.data_dir = data_dir
        self.options = options
        self.env = env or {}
        self.log_path = data_dir.with_suffix(".log")
        self.address = "127.0.0.1:0"
        self.process: subprocess.Popen[str] | None = None

    def start(self, patience: float = READY_SECONDS) -> Self:
        """Starts the broker and waits for its `ready` line."""
        self.launch()
        self.address = self.wait_until_ready(patience)
        return self

    def launch(self) -> None:
        """Starts the broker without waiting for anything."""
        assert self.process is None, "it is running"
        command = [sys.executable, "-m", "streamlog.broker", "--listen", self.address]
        command += ["--data-dir", str(self.data_dir), *self.options]
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=log,
                stdin=subprocess.DEVNULL,
                text=True,
                env={**os.environ, **self.env},
            )

    def wait_until_ready(self, patience: float) -> str:
        """Waits for the `ready` line, and returns the address in it."""
        process = self.process
        assert process is not None
        assert process.stdout is not None
        readable, _, _ = select.select([process.stdout], [], [], patience)
        line = process.stdout.readline() if readable else ""
        if not line.startswith("ready "):
            self.kill()
            message = f"the broker said {line!r} instead of ready:\n{self.log()[-4000:]}"
            raise AssertionError(message)
        return line.removeprefix("ready ").strip()

    def stop(self, patience: float = STOP_SECONDS) -> int:
        """Asks it to stop and returns its exit code."""
        process = self._take()
        process.send_signal(signal.SIGTERM)
        try:
            return process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            message = f"the broker did not stop within {patience} s:\n{self.log()}"
            raise AssertionError(message) from None

    def kill(self) -> None:
        """Kills it with SIGKILL: it can neither flush nor close connections."""
        process = self._take()
        process.kill()
        process.wait()

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Suspends the process within the block; connections stay open."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOWAIT)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def wait(self, seconds: float) -> int:
        """Waits for it to exit by itself, and returns its exit code."""
        process = self._take()
        return process.wait(seconds)

    def _take(self) -> "subprocess.Popen[str]":
        process, self.process = self.process, None
        assert process is not None, "it is not running"
        if process.stdout is not None:
            process.stdout.close()
        return process

    def log(self) -> str:
        """The standard error of all its starts."""
        return self.log_path.read_text(errors="replace")

    def memory_kib(self) -> int:
        """Its resident memory in KiB."""
        assert self.process is not None
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1])

    def __enter__(self) -> Self:
        """Starts it."""
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Kills it if it still runs; a test of a clean stop calls `stop`."""
        if self.process is not None:
            self.kill()
        if error is not None:
            error.add_note(f"the broker's log:\n{self.log()[-4000:]}")


def until(condition: object, seconds: float = 30.0) -> None:
    """Waits until the callable `condition` returns true; fails after `seconds`."""
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.01)
