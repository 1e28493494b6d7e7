"""Kills a Spark job at seeded points, a given number of times, and then lets it finish.

A `Job` is a program that does a bounded piece of work on `local-cluster`, can be started again
after any death, and ends with exit code 0 when the work is done. To put another job under it:

1. write the program, with its session from `spark.support.cluster.session` (see `copying.py`);
2. give `Job` its command, a `progress` that increases while it works (commits of a checkpoint,
   files written, an end offset), and `more`, which adds work if it was done too soon;
3. call `run_killed(job, kills, seed)`, and compare the output with the input.

Each kill waits until the job has made progress since its start, and then for a random part of a
second. The victim is the driver with its JVM, or one executor; executors of a dead driver
notice by themselves, while the job is started again.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

_EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
_PATIENCE = 180.0
_LATEST = 0.8
"""The maximal seconds from a step to a kill: about the duration of a batch."""


@dataclass
class Job:
    """A Spark program that can be killed and restarted."""

    module: str
    """The module for ``python -m``."""
    arguments: list[str]
    log: Path
    """The output of all its starts."""
    progress: Callable[[], int]
    """Returns a number that increases while it works."""
    more: Callable[[], None]
    """Adds work."""


@dataclass
class Kills:
    """The victims, in order, and the number of starts."""

    victims: list[str] = field(default_factory=list)
    starts: int = 0


def run_killed(job: Job, kills: int, seed: int) -> Kills:
    """Runs the job until it was killed `kills` times and has then finished."""
    random = Random(seed)
    done = Kills()
    running = _Running(job, done)
    try:
        while len(done.victims) < kills:
            if running.wait_for_step() == "ended":
                job.more()
                running.start()
                continue
            time.sleep(random.uniform(0, _LATEST))
            # Choose the driver less often: it takes its executors with it, and half a minute to
            # restart.
            if random.random() < 0.25:
                running.kill_driver()
                done.victims.append("driver")
                running.start()
            elif running.kill_executor(random):
                done.victims.append("executor")
        while running.wait_for_step() != "ended":
            pass
    finally:
        running.end()
    return done


class _Running:
    """The job's processes, of all its starts."""

    def __init__(self, job: Job, done: Kills) -> None:
        self._job = job
        self._done = done
        self._sessions: list[int] = []
        self._process = self.start()

    def start(self) -> "subprocess.Popen[bytes]":
        """Starts the job, in a process session of its own."""
        self._done.starts += 1
        command = [sys.executable, "-m", self._job.module, *self._job.arguments]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        with self._job.log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                cwd=self._job.log.parent,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
            )
        self._sessions.append(self._process.pid)
        self._progress = self._job.progress()
        return self._process

    def wait_for_step(self) -> str:
        """Waits until the job has made progress, or has exited with 0."""
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            code = self._process.poll()
            if code is not None:
                assert code == 0, f"the job ended with {code}:\n{self._last_words()}"
                return "ended"
            now = self._job.progress()
            if now > self._progress:
                self._progress = now
                return "on"
            time.sleep(0.02)
        raise AssertionError(f"no progress within {_PATIENCE} s:\n{self._last_words()}")

    def kill_driver(self) -> None:
        """Kills the driver: its Python process and its JVM, which runs master and workers."""
        for pid, command in _processes(self._process.pid):
            if _EXECUTOR not in command and "pyspark.daemon" not in command:
                _kill(pid)
        self._process.wait()

    def kill_executor(self, random: Random) -> bool:
        """Kills one executor, if there is one."""
        found = [pid for pid, command in _processes(self._process.pid) if _EXECUTOR in command]
        if found:
            _kill(random.choice(sorted(found)))
        return bool(found)

    def end(self) -> None:
        """Kills all remaining processes that the job has started."""
        for session in self._sessions:
            for pid, _ in _processes(session):
                _kill(pid)
        self._process.wait()

    def _last_words(self) -> str:
        return self._job.log.read_text(errors="replace")[-6000:]


def _processes(session: int) -> Iterator[tuple[int, str]]:
    """Returns the processes of a session, with their command lines."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with suppress(OSError):
            # After the name in parentheses: state, parent, group, session.
            numbers = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(numbers[3]) == session:
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                yield int(entry.name), command.decode(errors="replace")


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
