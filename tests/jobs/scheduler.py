"""Runs jobs side by side, keeps their output apart, and ends all that they have started."""

import ctypes
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from jobs.table import Job

LOGS: Final = Path("target/ci")
_OF_MAKE = ("MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL")
_PR_SET_CHILD_SUBREAPER = 36
_PATIENCE = 10
"""Seconds for an orderly end after SIGINT."""
_EVERY = 30
"""Seconds between two reports on what is running."""


@dataclass
class Outcome:
    """The end of a job."""

    passed: bool
    reason: str
    """Why it has failed, or `passed`."""
    seconds: float = 0.0
    core_seconds: float = 0.0


@dataclass
class _Running:
    process: subprocess.Popen[bytes]
    began: float
    timed_out: bool = field(default=False)


class Scheduler:
    """The jobs of one run, each in a process group of its own within this session.

    The system shares the processor between sessions before it looks at how nice a process is, so
    compilers yield to tests only within one.
    """

    def __init__(self, jobs: list[Job], cores: float) -> None:
        """Takes all jobs of the run, in the order of their priority."""
        self._waiting, self._cores = list(jobs), cores
        self._running: dict[Job, _Running] = {}
        self._began = time.monotonic()
        self._reported = self._began
        self.outcomes: dict[Job, Outcome] = {}
        # Servers that outlive their test become children of this process, and end with it.
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        shutil.rmtree(LOGS, ignore_errors=True)
        LOGS.mkdir(parents=True)

    def run(self) -> None:
        """Runs all jobs. One that needs a job that has failed does not start."""
        try:
            while self._waiting or self._running:
                self._skip()
                for job in self._due():
                    self._waiting.remove(job)
                    self._start(job)
                self._reap()
                self._end_late()
                self._report()
                time.sleep(0.1)
        finally:
            self._end_all()

    def tell(self, words: str) -> None:
        """Prints a line with the time since the start."""
        minutes, seconds = divmod(int(time.monotonic() - self._began), 60)
        print(f"[{minutes:2}:{seconds:02}] {words}", flush=True)

    def _skip(self) -> None:
        failed = {job.name for job, outcome in self.outcomes.items() if not outcome.passed}
        for job in [job for job in self._waiting if failed & set(job.needs)]:
            self._waiting.remove(job)
            lacking = ", ".join(sorted(failed & set(job.needs)))
            self.outcomes[job] = Outcome(False, f"not run, for it needs {lacking}")

    def _due(self) -> list[Job]:
        """The jobs that fit beside those that run, and at least one."""
        passed = {job.name for job, outcome in self.outcomes.items() if outcome.passed}
        started: list[Job] = []
        for job in [job for job in self._waiting if set(job.needs) <= passed]:
            # It does not wait for those that leave the processor to it.
            others = [other for other in [*self._running, *started] if other.nice <= job.nice]
            busy = sum(other.cores for other in others)
            if busy + job.cores <= self._cores or not (self._running or started):
                started.append(job)
        return started

    def _start(self, job: Job) -> None:
        # Each job is a make of its own, whatever options this one was given.
        environment = {name: value for name, value in os.environ.items() if name not in _OF_MAKE}
        with log(job).open("wb") as output:
            process = subprocess.Popen(
                ["nice", "-n", str(job.nice), "make", "--no-print-directory", job.name],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
        self._running[job] = _Running(process, time.monotonic())
        self.tell(f"{job.name} started")

    def _reap(self) -> None:
        """Takes the ends of processes: of jobs, and of orphans that nobody else waits for."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for job, running in list(self._running.items()):
                if running.process.pid == pid:
                    running.process.returncode = os.waitstatus_to_exitcode(status)
                    del self._running[job]
                    self._note(job, running, usage.ru_utime + usage.ru_stime)

    def _note(self, job: Job, running: _Running, core_seconds: float) -> None:
        code = running.process.returncode
        reason = f"failed with status {code}"
        if running.timed_out:
            reason = f"failed: not done after {job.minutes} minutes"
        outcome = Outcome(code == 0, reason if code else "passed")
        outcome.seconds, outcome.core_seconds = time.monotonic() - running.began, core_seconds
        self.outcomes[job] = outcome
        self.tell(f"{job.name} {outcome.reason} after {outcome.seconds:.0f} s")

    def _end_late(self) -> None:
        for job, running in self._running.items():
            late = time.monotonic() - running.began - 60 * job.minutes
            if late > 0 and not running.timed_out:
                running.timed_out = True
                _signal(running.process.pid, signal.SIGINT)
            if late > _PATIENCE:
                _signal(running.process.pid, signal.SIGKILL)

    def _report(self) -> None:
        if time.monotonic() - self._reported < _EVERY:
            return
        self._reported = time.monotonic()
        for job, running in self._running.items():
            since = time.monotonic() - running.began
            self.tell(f"  {job.name}, {since:.0f} s: {last_line(job)}")

    def _end_all(self) -> None:
        """Ends everything that this process has started."""
        for running in self._running.values():
            _signal(running.process.pid, signal.SIGINT)
        until = time.monotonic() + _PATIENCE
        while self._running and time.monotonic() < until:
            self._reap()
            time.sleep(0.1)
        while orphans := list(_children()):
            for pid in orphans:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self._reap()
            time.sleep(0.01)


def log(job: Job) -> Path:
    """The file with the output of a job."""
    return LOGS / f"{job.name}.log"


def last_line(job: Job) -> str:
    """The last line that a job has written, cut to the width of a terminal."""
    with log(job).open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - 4096))
        lines: Iterable[str] = file.read().decode(errors="replace").splitlines()
    said = [line.strip() for line in lines if line.strip()]
    return re.sub(r"\s+", " ", said[-1])[:100] if said else "nothing yet"


def _children() -> Iterator[int]:
    """The processes whose parent is this one."""
    path = Path(f"/proc/self/task/{os.getpid()}/children")
    yield from map(int, path.read_text().split())


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, number)
