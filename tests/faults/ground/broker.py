"""A broker in its own namespace."""

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from faults.ground.clock import Clock
from faults.ground.namespaces import Network
from faults.ground.server import PORT as ZOOKEEPER_PORT
from faults.ground.waiting import until
from py.support.preload import Faults

PORT = 9092
START_SECONDS = 30.0
ELECTION_WAIT_SECONDS = 4.0
"""After an outage of all brokers, those that have returned by then lead without the others."""
SETTINGS = (
    "zookeeper.session.timeout.ms=3000",
    "replica.lag.time.max.ms=3000",
    "replica.socket.timeout.ms=3000",
    "offsets.topic.num.partitions=1",
    "log.cleaner.backoff.ms=500",
    f"election.wait.ms={ELECTION_WAIT_SECONDS * 1_000:.0f}",
)


def program() -> str:
    """The installed program, or the one that `STREAMLOG_PROGRAM` names."""
    installed = Path(sys.executable).with_name("streamlog")
    return os.environ.get("STREAMLOG_PROGRAM", str(installed))


@dataclass(frozen=True)
class Tools:
    """The faults that a preloaded library causes in a broker."""

    faults: Faults
    clock: Clock


class Broker:
    """A broker that can be killed, paused, and started again on its data."""

    def __init__(self, network: Network, folder: Path, number: int) -> None:
        """Keeps its data below a folder; it is not started."""
        self.network = network
        self.number = number
        self.node = f"b{number}"
        self.data = folder / f"broker-{number}"
        self.log_path = folder / f"broker-{number}.log"
        self.address = f"{network.addresses[self.node]}:{PORT}"
        self.tools: Tools | None = None
        self.process: subprocess.Popen[bytes] | None = None

    def add_tools(self) -> None:
        """Lets its flushes fail and its clock jump, from its next start on."""
        folder = self.data.with_suffix(".tools")
        folder.mkdir()
        self.tools = Tools(Faults(folder), Clock(folder / "clock"))

    def _environment(self) -> dict[str, str]:
        return {} if self.tools is None else {**self.tools.faults.env, **self.tools.clock.env}

    def command(self, data: Path, node: str) -> list[str]:
        """The command that runs a broker of this number on some data in a namespace."""
        zookeeper = f"{self.network.addresses['zk']}:{ZOOKEEPER_PORT}/streamlog"
        words = [program(), "broker", "--broker-id", str(self.number), "--zookeeper", zookeeper]
        words += ["--listen", f"{self.network.addresses[node]}:{PORT}", "--data-dir", str(data)]
        for setting in SETTINGS:
            words += ["--set", setting]
        return self.network.command(node, *words)

    def launch(self) -> None:
        """Starts it without waiting."""
        assert self.process is None, f"broker {self.number} runs"
        with self.log_path.open("ab") as log:
            self._log_size = log.tell()
            self.process = subprocess.Popen(
                self.command(self.data, self.node),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **self._environment()},
            )

    def start(self) -> None:
        """Starts it, and waits until it is ready."""
        self.launch()
        self.await_ready()

    def await_ready(self) -> None:
        """Waits until it answers."""
        until(f"broker {self.number} is ready, see {self.log_path}", self._is_ready, START_SECONDS)

    def _is_ready(self) -> bool:
        assert self.is_running, f"broker {self.number} has ended: {self.new_log()[-2000:]}"
        return "ready " in self.new_log()

    @property
    def is_running(self) -> bool:
        """Returns whether the process runs."""
        return self.process is not None and self.process.poll() is None

    def send_kill(self) -> None:
        """Kills it without waiting for its end."""
        assert self.process is not None
        self.process.kill()

    def kill(self) -> None:
        """Kills it, if it runs."""
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            process.wait()

    def stop(self) -> None:
        """Stops it in order."""
        process, self.process = self.process, None
        assert process is not None
        process.terminate()
        code = process.wait(START_SECONDS)
        assert code == 0, f"broker {self.number} ends with {code}"

    def pause(self) -> None:
        """Lets it stand still."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Lets it go on."""
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def await_end(self) -> int:
        """Waits until it ends by itself, and returns its exit code."""
        process = self.process
        assert process is not None
        until(f"broker {self.number} ends by itself", lambda: process.poll() is not None)
        self.process = None
        assert process.returncode is not None
        return process.returncode

    def empty_disk(self) -> None:
        """Removes everything in the data directory."""
        assert self.process is None
        for entry in self.data.iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()

    def new_log(self) -> str:
        """The output since its last start."""
        with self.log_path.open("rb") as log:
            log.seek(self._log_size)
            return log.read().decode(errors="replace")
