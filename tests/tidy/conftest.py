"""Fixtures for all rules: the repository's tree, and a way to plant an offence."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tidy.source.tree import Tree

Plant = Callable[[dict[str, str]], Tree]


@pytest.fixture(scope="session")
def tree() -> Tree:
    """The repository."""
    return Tree.of_repository()


@pytest.fixture
def plant(tmp_path: Path) -> Plant:
    """Makes a tree of the given texts."""
    return lambda files: Tree.planted(tmp_path, files)
