"""The logs of jobs, in `target/ci`."""

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from jobs.table import Job

LOGS: Final = Path("target/ci")


@contextmanager
def log_folder() -> Iterator[None]:
    """The folder of the logs, without those of an earlier run, for this run alone."""
    LOGS.mkdir(parents=True, exist_ok=True)
    with (LOGS / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(f"another run writes into {LOGS}: wait for its end") from None
        for earlier in LOGS.glob("*.log"):
            earlier.unlink()
        yield


def log(job: Job) -> Path:
    """The file with the output of a job, or of the repetition of one of its tests."""
    return LOGS / (f"{job.name}.repeat-{job.attempt}.log" if job.attempt else f"{job.name}.log")


def read_log(job: Job) -> str:
    """The output of a job so far."""
    return log(job).read_text(errors="replace")


def last_line(job: Job) -> str:
    """The last line that a job has written, cut to the width of a terminal."""
    with log(job).open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - 4096))
        lines = file.read().decode(errors="replace").splitlines()
    said = [line.strip() for line in lines if line.strip()]
    return re.sub(r"\s+", " ", said[-1])[:100] if said else "nothing yet"
