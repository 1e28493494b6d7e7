"""The subcommands of ``streamlog pipeline``, with the exit codes of every command."""

import os
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from streamlog.errors import (
    AuthorizationError,
    ConfigError,
    ConnectError,
    MissingExtra,
    RequestTimeout,
    StreamlogError,
    TopicNotFound,
)
from streamlog.spark.pipeline.job import Job
from streamlog.spark.pipeline.reasons import is_of_spark, lines_of
from streamlog.spark.pipeline.topics import check_options, check_topics

__all__ = ["VERBS", "main"]

VERBS = ("run", "validate", "plan")

_EXITS: tuple[tuple[type[Exception], int], ...] = (
    (ConfigError, 2),
    (ConnectError, 3),
    (AuthorizationError, 4),
    (TopicNotFound, 5),
    (RequestTimeout, 124),
)
_FAILED = 1
_INTERRUPTED = 130


def main(verb: str, path: str) -> int:
    """Runs, checks or shows the job of a file, and returns the exit code.

    Args:
        verb: One of ``VERBS``.
        path: The job's file.
    """
    try:
        job = Job.of(Path(path))
        if verb == "run":
            return run(job)
        _look_at_topics(job)
        print(_sound(path, job) if verb == "validate" else plan(job))
    except Exception as error:
        if not isinstance(error, StreamlogError) and not is_of_spark(error):
            raise
        for line in lines_of(error)[:_LINES]:
            print(f"streamlog: {line}", file=sys.stderr)
        return next((code for kind, code in _EXITS if isinstance(error, kind)), _FAILED)
    return 0


_LINES = 20
"""The maximal number of lines of an error: Spark's messages include plans."""


def run(job: Job) -> int:
    """Runs a job until its end, Ctrl-C or SIGTERM, and returns the exit code."""
    from streamlog.spark.pipeline.run import Run
    from streamlog.spark.pipeline.session import open_session

    check_options(job)
    check_topics(job)
    session = open_session(job, is_watched=_is_watched() and job.stream is None)
    try:
        with _signals() as received:
            going = Run(job, session, tell=_tell, is_stopped=lambda: bool(received))
            if going.go():
                return 0
        if signal.SIGINT in received:
            return _INTERRUPTED
        # Stopping is the usual end of a stream, but leaves the copy of a table incomplete.
        return _FAILED if job.stream is None else 0
    finally:
        session.stop()


def _look_at_topics(job: Job) -> None:
    """Checks the topics, as far as PySpark and brokers are available."""
    try:
        check_options(job)
        check_topics(job)
    except (ConnectError, MissingExtra, RequestTimeout) as error:
        _tell(f"streamlog: topics are not checked: {error}")


def plan(job: Job) -> str:
    """Formats the plan of a job as a table."""
    how = "tables, once"
    if job.stream is not None:
        words = {"once": "once", "available-now": "what there is, then ends"}
        trigger = words.get(job.stream.trigger, f"every {job.stream.trigger}")
        how = f"streams, {trigger}; checkpoint {job.stream.display}"
    rows = [("KIND", "NAME", "FROM", "WHAT"), ("job", job.name, job.where, how), *job.rows]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(_aligned(row, widths) for row in rows)


def _aligned(row: tuple[str, str, str, str], widths: Iterable[int]) -> str:
    return "  ".join(
        [*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]
    )


def _sound(path: str, job: Job) -> str:
    counts = {"source": job.sources, "step": job.steps, "sink": job.sinks}
    counted = (
        f"{len(each)} {name}{'' if len(each) == 1 else 's'}" for name, each in counts.items()
    )
    return f"{path} is sound: {', '.join(counted)}"


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Collects the signals received in the block, instead of their usual handling."""
    received: list[int] = []

    def take(number: int, _: FrameType | None) -> None:
        received.append(number)

    before = {number: signal.signal(number, take) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _is_watched() -> bool:
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR")
