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
    nice: int = 0
    """How far the job leaves the processor to others, up to 19."""
    ci_only: bool = False
    """True if `.ci/run` alone has the job."""
    unsteady: bool = False
    """True if the tests start processes: in `.ci/run`, one that fails is repeated."""


def read() -> list[Job]:
    """Returns the jobs in their order, which is that of their priority."""
    return parse((HERE / "jobs.toml").read_text())


def parse(text: str) -> list[Job]:
    """Returns the jobs of a table."""
    rows = tomllib.loads(text)
    return [
        Job(name=name, **{**row, "needs": tuple(row.get("needs", ()))})
        for name, row in rows.items()
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
