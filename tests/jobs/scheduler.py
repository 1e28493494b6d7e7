"""Runs jobs side by side, keeps their output apart, and ends all that they have started."""

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from jobs.failures import failures
from jobs.logs import last_line, log, read_log
from jobs.table import Job

_PR_SET_CHILD_SUBREAPER = 36
_PATIENCE = 10
"""Seconds for an orderly end after SIGINT."""
_EVERY = 30
"""Seconds between two reports on what is running."""
# Each job is a make of its own, whatever options and variables this one was given.
_NOT_INHERITED = ("MAKEFLAGS", "GNUMAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL", "TEST")
_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass
class Outcome:
    """The end of a job."""

    passed: bool
    reason: str
    """`passed`, or why it has failed or was not run."""
    was_run: bool = True
    timed_out: bool = False
    seconds: float = 0.0
    core_seconds: float = 0.0


@dataclass
class _Running:
    process: subprocess.Popen[bytes]
    began: float
    timed_out: bool = False


class Scheduler:
    """The jobs of one run, each in a process group of its own within this session.

    Linux divides the processor among sessions first; `nice` only works within one.
    """

    def __init__(self, jobs: list[Job], cores: float) -> None:
        """Takes all jobs of the run in order of priority."""
        self._waiting, self._cores = list(jobs), cores
        self._running: dict[Job, _Running] = {}
        self._began = self._reported = time.monotonic()
        self.outcomes: dict[Job, Outcome] = {}
        # Servers that outlive their test become children of this process, and end with it.
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def run(self) -> None:
        """Runs all jobs. One that needs a job that has failed is not run."""
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

    def _tell(self, words: str) -> None:
        minutes, seconds = divmod(int(time.monotonic() - self._began), 60)
        print(f"[{minutes:2}:{seconds:02}] {words}", flush=True)

    def _skip(self) -> None:
        known = {job.name for job in [*self._waiting, *self._running, *self.outcomes]}
        failed = {job.name for job, outcome in self.outcomes.items() if not outcome.passed}
        for job in list(self._waiting):
            if lacking := (failed | {need for need in job.needs if need not in known}) & {
                *job.needs
            }:
                self._waiting.remove(job)
                reason = f"not run, because it needs {', '.join(sorted(lacking))}"
                self.outcomes[job] = Outcome(False, reason, was_run=False)

    def _due(self) -> list[Job]:
        """The jobs that fit beside those that run, and at least one."""
        passed = {job.name for job, outcome in self.outcomes.items() if outcome.passed}
        pending = {job.name for job in [*self._waiting, *self._running]}
        started: list[Job] = []
        for job in self._waiting:
            if not passed >= set(job.needs) or pending & set(job.after):
                continue
            # Jobs with a higher `nice` yield, so they do not count.
            others = [other for other in [*self._running, *started] if other.nice <= job.nice]
            busy = sum(other.cores for other in others)
            if busy + job.cores <= self._cores or not (self._running or started):
                started.append(job)
        return started

    def _start(self, job: Job) -> None:
        kept = {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}
        test = [f"TEST={job.test.replace('$', '$$')}"] if job.test else []
        with log(job).open("wb") as output:
            process = subprocess.Popen(
                ["nice", "-n", str(job.nice), "make", "--no-print-directory", job.name, *test],
                env=kept,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
        self._running[job] = _Running(process, time.monotonic())
        self._tell(f"{job.name} started")

    def _reap(self) -> None:
        """Reaps jobs that have exited, and adopted orphans."""
        with suppress(ChildProcessError):
            while True:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
                if pid == 0:
                    return
                ended = [
                    job for job, running in self._running.items() if running.process.pid == pid
                ]
                for job in ended:
                    running = self._running.pop(job)
                    running.process.returncode = os.waitstatus_to_exitcode(status)
                    self._note(job, running, usage.ru_utime + usage.ru_stime)

    def _note(self, job: Job, running: _Running, core_seconds: float) -> None:
        # Whatever it has left keeps cores and ports from other jobs.
        _signal(running.process.pid, signal.SIGKILL)
        code = running.process.returncode
        reason = f"failed with status {code}" if code else "passed"
        if running.timed_out:
            reason = f"failed: not done after {job.minutes} minutes"
        outcome = Outcome(reason == "passed", reason, timed_out=running.timed_out)
        outcome.seconds, outcome.core_seconds = time.monotonic() - running.began, core_seconds
        self.outcomes[job] = outcome
        self._tell(f"{job.name} {outcome.reason} after {outcome.seconds:.0f} s")
        for failure in [] if outcome.passed else failures(read_log(job)):
            self._tell(f"  {failure.test}")

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
            self._tell(f"  {job.name}, {since:.0f} s: {last_line(job)}")

    def _end_all(self) -> None:
        """Ends everything that this process has started, whatever signals it gets meanwhile."""
        before = [signal.signal(number, signal.SIG_IGN) for number in _ENDS]
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
        for number, handler in zip(_ENDS, before, strict=True):
            signal.signal(number, handler)


def _children() -> Iterator[int]:
    """The processes whose parent is this one."""
    path = Path(f"/proc/self/task/{os.getpid()}/children")
    yield from map(int, path.read_text().split())


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, number)
