"""The output of the command line is documented: every field of every row."""

import re
from collections.abc import Iterator

from tidy.conftest import Plant
from tidy.source.tree import Tree

_PAGE = "docs/command-line.md"
_COLUMNS = re.compile(r"const COLUMNS[^=]*=\s*&\[(.*?)\];", re.DOTALL)


def undocumented(tree: Tree) -> Iterator[str]:
    """Every field that a row shows and no row of the page has, in the row's order."""
    documented = [re.findall(r"`(\w+)`", line) for line in tree.read(_PAGE).splitlines()]
    for path in tree.matching("src/cli/*.rs"):
        # Rows of a file's own tests stand at its end and are nobody's answer.
        product = tree.read(path).split("#[cfg(test)]")[0]
        for found in _COLUMNS.finditer(product):
            fields = re.findall(r'"(\w+)"', found[1])
            if not any(_has(line, fields) for line in documented):
                yield f"{path}: {_PAGE} has no row {', '.join(fields)}"


def _has(line: list[str], fields: list[str]) -> bool:
    starts = range(len(line) - len(fields) + 1)
    return any(line[start : start + len(fields)] == fields for start in starts)


def test_every_field_of_an_answer_is_documented(tree: Tree) -> None:
    assert list(undocumented(tree)) == []


def test_a_field_that_is_not_documented_is_found(plant: Plant) -> None:
    row = 'impl Row for A { const COLUMNS: &\'static [&\'static str] = &["a", "b"]; }'
    page = "| `x` | `a`, `c` |"
    assert len(list(undocumented(plant({"src/cli/a.rs": row, _PAGE: page})))) == 1
