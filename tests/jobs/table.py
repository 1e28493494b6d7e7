"""The table of jobs, `jobs.toml`."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True, kw_only=True)
class Job:
    """A job, with what it needs and uses."""

    name: str
    """The target of the Makefile that does the work."""
    minutes: float
    """The time after which the job is ended, and has failed."""
    cores: float
    """The number of cores that the job usually keeps busy."""
    needs: tuple[str, ...] = ()
    """The jobs that must have passed before."""
    after: tuple[str, ...] = ()
    """The jobs that must have ended before, because they would wait for one another."""
    nice: int = 0
    """The degree to which the job leaves the processor to others, up to 19."""
    ci_only: bool = False
    """True if only `.ci/run` has the job."""
    unsteady: bool = False
    """True if the tests start processes: in `.ci/run`, one that fails is repeated."""
    test: str = ""
    """The only test to run, when it is repeated."""
    attempt: int = 0
    """The number of the repetition."""


def read() -> list[Job]:
    """Returns the jobs in order of priority."""
    return parse((HERE / "jobs.toml").read_text())


def parse(text: str) -> list[Job]:
    """Returns the jobs of a table."""
    lists = ("needs", "after")
    return [
        Job(name=name, **{**row, **{key: tuple(row.get(key, ())) for key in lists}})
        for name, row in tomllib.loads(text).items()
    ]


def chosen(jobs: list[Job], names: list[str], *, with_ci: bool) -> list[Job]:
    """Returns the jobs of those names and all that they need, or without names the usual ones.

    Raises:
        KeyError: If there is no such job.
    """
    by_name = {job.name: job for job in jobs}
    needed = [by_name[name] for name in names]
    for job in needed:
        needed += [by_name[name] for name in job.needs if by_name[name] not in needed]
    if not names:
        needed = [job for job in jobs if with_ci or not job.ci_only]
    return [job for job in jobs if job in needed]
