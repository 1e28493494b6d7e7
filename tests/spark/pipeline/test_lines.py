"""The lines of keys in all forms of TOML."""

import tomllib

import pytest

from streamlog._core.texts import key_lines
from streamlog.spark.pipeline.section import Path

TRICKY = '''\
# [not.a.table]
name = "a # no comment" # a comment with key = 1
"quoted.key" = 'C:\\path\\'
'single "quoted"' = 1
"esc\\u0061ped \\"q\\"" = 2
text = """
[no.table]
key = "no key"
\\"""" # ends with a quote before it
more = \'\'\'it's
[none] ""\'\'\'
empty = ""
none = \'\'
dotted . "in two" . parts = 3
dotted.other = { a = 1, b.c = [ { d = 2 }, { d = "}" } ], "e" = "]" }
day = 1979-05-27 07:32:00 # with a space
number = [
  1, # one
  [2, 3],

  "a, b",
]
huge = +1_000.5e-3
-bare_- = true

[ table . "of.all" ]  # [x]
key = false
[table."of.all".below]
[[list]]
name = "first"
[list.inner]
deep = 1
[[list]]
name = "second"
[[list.nested]]
x = 1
[[list.nested]]
x = 2
'''


def paths_of(value: object, path: Path = ()) -> set[Path]:
    """Yields every path in a tree."""
    found = {path} if path else set()
    if isinstance(value, dict | list):
        for key, child in value.items() if isinstance(value, dict) else enumerate(value):
            found |= paths_of(child, (*path, key))
    return found


@pytest.mark.parametrize("text", [TRICKY, TRICKY.replace("\n", "\r\n"), "", "# only this"])
def test_every_key_and_no_other_has_a_line(text: str) -> None:
    assert set(key_lines(text)) == paths_of(tomllib.loads(text))


def test_the_lines_are_those_where_the_keys_stand() -> None:
    found = key_lines(TRICKY)
    lines = TRICKY.splitlines()
    for path, start in {
        ("name",): "name",
        ("quoted.key",): '"quoted.key"',
        ("text",): "text",
        ("more",): "more",
        ("dotted", "in two", "parts"): "dotted . ",
        ("dotted", "other", "b", "c", 1, "d"): "dotted.other",
        ("number", 1, 0): "  [2",
        ("number", 2): '  "a, b"',
        ("-bare_-",): "-bare_-",
        ("table", "of.all"): "[ table",
        ("table", "of.all", "below"): '[table."of.all".below',
        ("list", 0, "inner", "deep"): "deep",
        ("list", 1, "name"): 'name = "second"',
        ("list", 1, "nested", 1, "x"): "x = 2",
    }.items():
        assert lines[found[path] - 1].startswith(start), path
