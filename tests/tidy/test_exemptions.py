"""Nothing is excused: no unsafe code outside its one file, no lint allowed, no test skipped."""

import re
from collections.abc import Iterator

from tidy.conftest import Plant
from tidy.source import rust
from tidy.source.tree import Tree

UNSAFE_HOME = "src/io/sys.rs"

# An allowance is silent when it is no longer needed; an expectation is not, and says why.
_RUST = {
    r"#!?\[\s*allow\b": "expect a lint with a reason instead of allowing it",
    r"\bcfg_attr\((?:[^\]])*?,\s*allow\b": "expect a lint with a reason instead of allowing it",
    r"#!?\[\s*expect\((?:(?!reason\s*=)[^\]])*\]": "an expected lint needs its reason",
    r"#\[\s*ignore\b": "a test that does not run proves nothing",
}
_PYTHON = {
    r"\bpytest\s*\.\s*(?:skip|importorskip|xfail)\b": "a test that does not run proves nothing",
    r"\bmark\s*\.\s*(?:skip|skipif|xfail)\b": "a test that does not run proves nothing",
    r"#\s*noqa(?!: [A-Z])": "name the rule that does not hold here",
    r"#\s*type:\s*ignore(?!\[)": "name the error that is ignored",
}
_THIS_FILE = "tests/tidy/test_exemptions.py"


def misplaced_unsafe(tree: Tree) -> Iterator[str]:
    """`unsafe` in the crate outside of the one file that may hold it."""
    for path in tree.matching("src/*.rs", "tests/*.rs", "examples/*.rs"):
        if path != UNSAFE_HOME:
            masked = rust.mask(tree.read(path))
            for found in re.finditer(r"\bunsafe\b", masked):
                line = rust.line_of(masked, found.start())
                yield f"{path}:{line}: unsafe code lives in {UNSAFE_HOME}"


def exemptions(tree: Tree) -> Iterator[str]:
    """Everything that silences a check."""
    for path in tree.matching("*.rs", "*.py", "*.pyi"):
        if path == _THIS_FILE:
            continue
        source = tree.read(path)
        text, rules = (rust.mask(source), _RUST) if path.endswith(".rs") else (source, _PYTHON)
        for pattern, reason in rules.items():
            for found in re.finditer(pattern, text):
                yield f"{path}:{rust.line_of(text, found.start())}: {reason}"


def test_unsafe_code_lives_in_one_file(tree: Tree) -> None:
    assert list(misplaced_unsafe(tree)) == []


def test_nothing_is_excused(tree: Tree) -> None:
    assert list(exemptions(tree)) == []


def test_unsafe_code_elsewhere_is_found(plant: Plant) -> None:
    code = "fn f() { unsafe { g() } }"
    files = {
        UNSAFE_HOME: code,
        "src/io/file.rs": code,
        "src/io/disk.rs": '#![deny(unsafe_code)] // unsafe\nconst A: &str = "unsafe";',
    }
    assert len(list(misplaced_unsafe(plant(files)))) == 1


def test_every_kind_of_excuse_is_found(plant: Plant) -> None:
    rust_excuses = [
        "#[allow(dead_code)]",
        "#![allow(dead_code)]",
        "#[cfg_attr(test, allow(dead_code))]",
        '#![cfg_attr(not(feature = "cli"), allow(dead_code))]',
        "#[expect(dead_code)]",
        "#[ignore]",
        '#[ignore = "slow"]',
    ]
    python_excuses = [
        "pytest.skip()",
        "pytest.importorskip('x')",
        "@pytest.mark.skipif(True)",
        "@pytest.mark.xfail",
        "x = 1  # noqa",
        "x = 1  # type: ignore",
    ]
    for excuse in rust_excuses:
        assert len(list(exemptions(plant({"src/io/a.rs": excuse})))) == 1, excuse
    for excuse in python_excuses:
        assert len(list(exemptions(plant({"tests/py/a.py": excuse})))) == 1, excuse
    lawful = {
        "src/io/a.rs": '#[expect(dead_code, reason = "why")]\nfn allow() {}',
        "tests/py/a.py": "x = 1  # noqa: E501\nx = 1  # type: ignore[attr-defined]\n",
    }
    assert list(exemptions(plant(lawful))) == []
