"""The verbs of the Makefile: each is described, set up, and those of the table of jobs are real."""

import re
from collections.abc import Iterator

from jobs import table
from tidy.conftest import Plant
from tidy.source.tree import Tree

TABLE = "tests/jobs/jobs.toml"
SPARK_PROGRAMS = r"-m (mail|logs|on_spark)\b|on_spark/|tests/spark"


def faults(tree: Tree) -> Iterator[str]:
    """The faults of the table of jobs."""
    targets = set(re.findall(r"^([a-z-]+):", tree.read("Makefile"), re.MULTILINE))
    jobs = table.parse(tree.read(TABLE))
    by_name = {job.name: job for job in jobs}
    for job in jobs:
        if job.name not in targets:
            yield f"{job.name} is no target of the Makefile"
        for name in [*job.needs, *job.after]:
            other = by_name.get(name)
            if other is None:
                yield f"{job.name} needs {name}, which is no job"
            elif other.unsteady and name in job.needs:
                yield f"{job.name} needs {name}, whose tests may be repeated after the other jobs"
            elif other.ci_only and not job.ci_only:
                yield f"{job.name} needs {name}, which `make test` leaves out"
    yield from (f"{job.name} needs what needs it" for job in jobs if _needs_itself(job, by_name))


def _needs_itself(job: table.Job, jobs: dict[str, table.Job]) -> bool:
    needed = [*job.needs, *job.after]
    for name in needed:
        other = jobs.get(name, job)
        needed += [further for further in [*other.needs, *other.after] if further not in needed]
    return job.name in needed


def undescribed_verbs(tree: Tree) -> Iterator[str]:
    """Verbs that `make help` does not show."""
    makefile = tree.read("Makefile")
    phony = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    for verb in " ".join(phony).split():
        if not re.search(rf"^{verb}:.* ## [A-Z`]", makefile, re.MULTILINE):
            yield verb


def verbs_without_spark(tree: Tree) -> Iterator[str]:
    """Verbs that start a program of Spark's in an environment that nobody gave it."""
    rules = re.findall(
        r"^([a-z-]+):(.*?) ?## .*\n((?:\t.*\n)+)", tree.read("Makefile"), re.MULTILINE
    )
    for verb, needed, commands in rules:
        if re.search(SPARK_PROGRAMS, commands) and not re.search(r"spark\.(stamp|jsa)", needed):
            yield verb


def test_the_jobs_can_be_run(tree: Tree) -> None:
    assert list(faults(tree)) == []


def test_help_describes_every_verb(tree: Tree) -> None:
    assert list(undescribed_verbs(tree)) == []


def test_every_verb_on_spark_installs_it(tree: Tree) -> None:
    assert list(verbs_without_spark(tree)) == []


def test_a_verb_that_lacks_spark_is_found(plant: Plant) -> None:
    makefile = "a: setup ## A\n\tpython -m logs\nb: setup spark.stamp ## B\n\tpython -m mail\n"
    makefile += "c: ## C\n\tpytest tests/spark\n"
    assert list(verbs_without_spark(plant({"Makefile": makefile}))) == ["a", "c"]


def test_a_faulty_job_is_found(plant: Plant) -> None:
    makefile = "test: ## Tests\nsoak: ## Soaks\n"
    row = "minutes = 1\ncores = 1\n"
    lawful = f'[test]\n{row}[soak]\n{row}needs = ["test"]\nci_only = true\n'
    assert list(faults(plant({"Makefile": makefile, TABLE: lawful}))) == []
    for rows in [
        f"[absent]\n{row}",
        f'[soak]\n{row}needs = ["absent"]\n',
        f'[soak]\n{row}needs = ["soak"]\n',
        f'[test]\n{row}unsteady = true\n[soak]\n{row}needs = ["test"]\n',
        f'[test]\n{row}ci_only = true\n[soak]\n{row}needs = ["test"]\n',
        f'[soak]\n{row}needs = ["test"]\n[test]\n{row}unsteady = true\n',
        f'[soak]\n{row}after = ["absent"]\n',
    ]:
        assert len(list(faults(plant({"Makefile": makefile, TABLE: rows})))) == 1, rows


def test_a_verb_without_description_is_found(plant: Plant) -> None:
    makefile = ".PHONY: help bench\nhelp: ## Shows this\nbench: setup\n"
    assert list(undescribed_verbs(plant({"Makefile": makefile}))) == ["bench"]
