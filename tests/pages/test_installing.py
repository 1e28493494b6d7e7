"""No page says to install `streamlog` by name: on PyPI that is another project's package."""

import re
from collections.abc import Iterator
from pathlib import Path

from tidy.source.tree import Tree

# Matches `pip install` followed by the bare name, or the name with extras, on the same line; a path
# to a wheel, or a variable with such a path, is correct. The pattern does not match itself.
_BY_NAME = re.compile(
    r"pip3? [i]nstall\b[^\n`]*?[\s'\"]streamlog(?:\[\w+(?:,\w+)*\])?(?=$|[\s'\"`.,;&)])"
)
_SAID_TO_PEOPLE = ("*.md", "*.rst", "*.py", "*.pyi", "*.rs", "*.toml", "packaging/*")


def installs_by_name(tree: Tree) -> Iterator[str]:
    """Returns every line that would install the package of that name from the registry."""
    for path in tree.matching(*_SAID_TO_PEOPLE):
        for number, line in enumerate(tree.read(path).splitlines(), start=1):
            if found := _BY_NAME.search(line):
                yield f"{path}:{number}: {found[0]}"


def test_no_page_says_to_install_another_projects_package() -> None:
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
