"""The table of lanes can be run: real targets, and within the time a run may take."""

import re
from collections.abc import Iterator

from tidy.conftest import Plant
from tidy.source.tree import Tree

MINUTES_BESIDE = 60
MINUTES_AFTER = 60
_LANE = re.compile(r"[a-z-]+ +(beside|after) +(\d+) +\d+ +([a-z-]+)")
SPARK_PROGRAMS = r"-m (mail|logs|on_spark)\b|on_spark/|tests/spark"


def faults(tree: Tree) -> Iterator[str]:
    """The faults of `.ci/lanes`."""
    targets = set(re.findall(r"^([a-z-]+):", tree.read("Makefile"), re.MULTILINE))
    after = 0
    for row in tree.read(".ci/lanes").splitlines():
        if row.startswith("#") or not row.strip():
            continue
        lane = _LANE.fullmatch(row)
        if lane is None:
            yield f"'{row}' is not a name, 'beside' or 'after', two numbers and a make target"
            continue
        when, minutes, target = lane.groups()
        if target not in targets:
            yield f"'{row}' names no target of the Makefile"
        if when == "after":
            after += int(minutes)
        elif int(minutes) > MINUTES_BESIDE:
            yield f"'{row}' may take longer than `make test`, {MINUTES_BESIDE} minutes"
    if after > MINUTES_AFTER:
        yield f"the lanes after `make test` may take {after} minutes, more than {MINUTES_AFTER}"


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
        r"^([a-z-]+): (.*) ## .*\n((?:\t.*\n)+)", tree.read("Makefile"), re.MULTILINE
    )
    for verb, needed, commands in rules:
        if re.search(SPARK_PROGRAMS, commands) and not re.search(r"spark\.stamp|\bcheck\b", needed):
            yield verb


def test_the_lanes_can_be_run(tree: Tree) -> None:
    assert list(faults(tree)) == []


def test_help_describes_every_verb(tree: Tree) -> None:
    assert list(undescribed_verbs(tree)) == []


def test_every_verb_on_spark_installs_it(tree: Tree) -> None:
    assert list(verbs_without_spark(tree)) == []


def test_a_verb_that_lacks_spark_is_found(plant: Plant) -> None:
    makefile = "a: setup ## A\n\tpython -m logs\nb: setup spark.stamp ## B\n\tpython -m mail\n"
    assert list(verbs_without_spark(plant({"Makefile": makefile}))) == ["a"]


def test_a_faulty_lane_is_found(plant: Plant) -> None:
    makefile = "test: ## Tests\nsoak: ## Soaks\n"
    lawful = "# name when limit usual target\nsoak  after 60 7 soak\nsoak beside 60 7 soak\n"
    assert list(faults(plant({"Makefile": makefile, ".ci/lanes": lawful}))) == []
    for lanes in [
        "soak after 61 7 soak",
        "soak beside 61 7 soak",
        "soak after 5 7 absent",
        "soak after five 7 soak",
        "soak before 5 7 soak",
        "soak after 5 soak",
        "a after 40 7 soak\nb after 40 7 soak",
    ]:
        assert len(list(faults(plant({"Makefile": makefile, ".ci/lanes": lanes})))) == 1, lanes


def test_a_verb_without_description_is_found(plant: Plant) -> None:
    makefile = ".PHONY: help bench\nhelp: ## Shows this\nbench: setup\n"
    assert list(undescribed_verbs(plant({"Makefile": makefile}))) == ["bench"]
