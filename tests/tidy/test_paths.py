"""The paths that ARCHITECTURE.md names are there."""

import re
from collections.abc import Iterator

from tidy.conftest import Plant
from tidy.source.tree import Tree

_PAGE = "ARCHITECTURE.md"
# Most paths are given from the folder that a section is about.
_PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)*/?)`")
# What a build makes, and a file whose name its author chooses.
_NOT_THERE = re.compile(r"target/|.*/x\.rs$")


def missing_paths(tree: Tree) -> Iterator[str]:
    """The paths on the page that no file has, or is below. A decision is named by its number."""
    known = [f"/{path}/" for path in tree.paths]
    for number, line in enumerate(tree.read(_PAGE).splitlines(), 1):
        for path in _PATH.findall(line):
            ends = tuple(f"/{path.rstrip('/')}{end}" for end in "/-")
            is_there = any(end in one for one in known for end in ends)
            if "/" in path and not _NOT_THERE.match(path) and not is_there:
                yield f"{_PAGE}:{number}: {path}"


def test_every_path_in_the_architecture_exists(tree: Tree) -> None:
    assert list(missing_paths(tree)) == []


def test_a_path_that_is_gone_is_found(plant: Plant) -> None:
    page = "`src/io/disk.rs`, `io/disk.rs`, `src/io/`, `decisions/0001`, `disk.rs`, `target/ci`"
    files = {_PAGE: f"{page}, `gone/disk.rs`, `io/disk`", "src/io/disk.rs": ""}
    files["docs/decisions/0001-why.md"] = ""
    assert list(missing_paths(plant(files))) == [f"{_PAGE}:1: gone/disk.rs", f"{_PAGE}:1: io/disk"]
