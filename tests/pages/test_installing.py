"""Nothing tells people to install `streamlog` by name: on PyPI that is a stranger's package."""

import re
from collections.abc import Iterator
from pathlib import Path

from tidy.source.tree import Tree

# `pip install`, then on the same line the bare name or the name with extras; a path to a wheel or
# a variable that holds such a path is the right way. Written so that it does not find itself.
_BY_NAME = re.compile(
    r"pip3? [i]nstall\b[^\n`]*?[\s'\"]streamlog(?:\[\w+(?:,\w+)*\])?(?=$|[\s'\"`.,;&)])"
)
_SAID_TO_PEOPLE = ("*.md", "*.rst", "*.py", "*.pyi", "*.rs", "*.toml", "packaging/*")


def installs_by_name(tree: Tree) -> Iterator[str]:
    """Every line that would install the package of that name from the registry."""
    for path in tree.matching(*_SAID_TO_PEOPLE):
        for number, line in enumerate(tree.read(path).splitlines(), start=1):
            if found := _BY_NAME.search(line):
                yield f"{path}:{number}: {found[0]}"


def test_nobody_is_told_to_install_a_strangers_package() -> None:
    assert list(installs_by_name(Tree.of_repository())) == []


def test_every_form_of_the_name_is_found(tmp_path: Path) -> None:
    def found(line: str) -> list[str]:
        return list(installs_by_name(Tree.planted(tmp_path, {"docs/a.md": line})))

    pip = "pip " + "install"
    for offence in (
        f"{pip} streamlog",
        f"{pip} 'streamlog[arrow]'",
        f'python -m {pip} --upgrade "streamlog[arrow,spark]" pandas',
        f"needs it: {pip} streamlog.",
    ):
        assert len(found(offence)) == 1, offence
    for lawful in (
        f"{pip} target/wheels/streamlog-*.whl",
        f'{pip} "$(ls target/wheels/streamlog-*.whl)[spark]"',
        f"{pip} pyarrow",
    ):
        assert found(lawful) == [], lawful
