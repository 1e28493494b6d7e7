"""The tree tells what the code is, not where and when it was written."""

import re
from collections.abc import Iterator

from tidy.conftest import Plant
from tidy.source.tree import Tree

# Each pattern is written so that it does not find itself.
_TRACES = {
    r"(?<![\w.])/(?:home/\w|root/|Users/|mnt/|opt/\w|work/)": "a path of one machine",
    r"\b(?:T[O]DO|F[I]XME|X[X]X|H[A]CK)\b(?!\(#\d+\))": "unfinished work without a number",
    r"\b[Ii]ssue #?\d+\b": "a number that only the tracker explains: say the reason",
    r"(?m)^[ \t]*(?://|#)[ \t]*[-=*#/~_]{6,}[ \t]*$": "a banner",
}
_TEXT = (
    "*.rs", "*.py", "*.pyi", "*.toml", "*.md", "*.sh", "*.in", "Makefile", ".ci/*", ".gitignore",
)  # fmt: skip


def traces(tree: Tree) -> Iterator[str]:
    """Every place that tells of a machine, a tracker or work left undone."""
    for path in tree.matching(*_TEXT):
        text = tree.read(path)
        for pattern, reason in _TRACES.items():
            for found in re.finditer(pattern, text):
                line = text.count("\n", 0, found.start()) + 1
                yield f"{path}:{line}: {reason}: {found[0].strip()!r}"


def test_the_tree_has_no_traces_of_its_making(tree: Tree) -> None:
    assert list(traces(tree)) == []


def test_every_kind_of_trace_is_found(plant: Plant) -> None:
    for trace in [
        "see /ho" + "me/me/log",
        "cd /wo" + "rk/main",
        "// TO" + "DO: later",
        "# FIX" + "ME",
        "as in iss" + "ue 3",
        "    // " + "-" * 40,
    ]:
        assert len(list(traces(plant({"src/io/a.rs": trace})))) == 1, trace
    lawful = "TO" + "DO(#12): data in target/work/ and docs/home/x; Kafka's KAFKA-1234"
    assert list(traces(plant({"README.md": lawful}))) == []
