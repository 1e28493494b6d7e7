"""The process of a load, as the harness sees it."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from faults.ground.cluster import CLIENTS
from faults.ground.namespaces import Network
from faults.ground.waiting import until
from faults.load.plan import Plan

STANDSTILL_SECONDS = 1.0
END_SECONDS = 120.0


class Load:
    """Producers and consumers in the namespace of the clients."""

    def __init__(self, network: Network, plan: Plan, log: Path) -> None:
        """Starts them."""
        self._log = log
        command = [sys.executable, "-m", "faults.load", *plan.words()]
        tests = Path(__file__).parents[2]
        paths = [str(tests), str(tests.parent / "examples")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                network.command(CLIENTS, *command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=environment,
            )
        self.acknowledged = 0
        self._changed = time.monotonic()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            count = int(line)
            if count != self.acknowledged:
                self.acknowledged, self._changed = count, time.monotonic()

    def await_more(self, count: int) -> float:
        """Waits until so many more records are acknowledged."""
        goal = self.acknowledged + count
        return until(f"{count} records more", lambda: self._is_at(goal))

    def await_standstill(self) -> float:
        """Waits until nothing is acknowledged any more."""

        def stands() -> bool:
            return self._is_at(0) and time.monotonic() - self._changed > STANDSTILL_SECONDS

        return until("nothing is acknowledged", stands)

    def _is_at(self, goal: int) -> bool:
        assert self._process.poll() is None, f"the load has ended: {self._log.read_text()}"
        return self.acknowledged >= goal

    def finish(self) -> None:
        """Ends the load in order: every record gets its outcome."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        code = self._process.wait(END_SECONDS)
        assert code == 0, f"the load ends with {code}: {self._log.read_text()}"
        self._reader.join()

    def kill(self) -> None:
        """Ends it at once, if it runs."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
