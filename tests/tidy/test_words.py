"""First lines of documentation and the names in the code are in the field's own words.

CONTRIBUTING.md has the rules with examples, ARCHITECTURE.md the glossary.
"""

import ast
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import PurePosixPath

from tidy.conftest import Plant
from tidy.source import python, rust
from tidy.source.tree import Tree

# A first line that opens with one of these asks a question instead of naming its subject.
QUESTION = re.compile(r"(What|Who|Whose|Whom|Where|Whether|How|Why|When)\b")
QUESTIONS_MAX = Fraction(1, 1000)

# Words that the project no longer uses; the glossary has the terms that replace them.
PRIVATE_WORDS = frozenset(
    {
        "burial",
        "burials",
        "fates",
        "keeper",
        "landing",
        "landings",
        "needy",
        "office",
        "reign",
        "reigns",
        "seat",
        "seats",
        "vouched",
    }
)

# Names of products are their owners'.
PRODUCTS = ("ZooKeeper",)

_DOC_LINE = re.compile(r"\s*//([/!])(?!/) ?(.*)")
_ITEM = re.compile(r"\b(?:struct|enum|union|trait|type|const|static|mod|macro_rules!)\s+(\w+)")
_STRUCT = re.compile(r"\bstruct\s+\w+[^;{(]*\{")
_FIELD = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?(\w+):\s", re.MULTILINE)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def first_lines(tree: Tree) -> Iterator[tuple[str, str]]:
    """The first line of each doc comment and docstring, with its place."""
    for path in tree.matching("*.rs"):
        kind = ""
        for number, line in enumerate(tree.read(path).splitlines(), start=1):
            found = _DOC_LINE.fullmatch(line)
            if found and found[1] != kind and found[2]:
                yield f"{path}:{number}", found[2]
            kind = found[1] if found else ""
    for path in tree.matching("*.py", "*.pyi"):
        for node in ast.walk(ast.parse(tree.read(path))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                docstring = ast.get_docstring(node)
                if docstring:
                    name = getattr(node, "name", "module")
                    yield f"{path}: {name}", docstring.splitlines()[0]


def questions(tree: Tree) -> list[str]:
    """First lines that open with a question word."""
    return [f"{place}: {line}" for place, line in first_lines(tree) if QUESTION.match(line)]


def names(tree: Tree) -> Iterator[tuple[str, str]]:
    """The names of files, modules, types, fields and functions, with their places."""
    for path in tree.matching("*.rs", "*.py", "*.pyi"):
        yield path, PurePosixPath(path).name.split(".")[0]
    for path in tree.matching("*.rs"):
        masked = rust.mask(tree.read(path))
        for function in rust.functions(masked):
            yield f"{path}:{function.line}", function.name
        for item in _ITEM.finditer(masked):
            yield f"{path}:{rust.line_of(masked, item.start())}", item[1]
        for struct in _STRUCT.finditer(masked):
            body = masked[struct.end() : rust.closing(masked, struct.end() - 1)]
            for field in _FIELD.finditer(body):
                yield f"{path}:{rust.line_of(masked, struct.start())}", field[1]
    for path in tree.matching("*.py", "*.pyi"):
        for name, line in python.names(tree.read(path)):
            yield f"{path}:{line}", name


def private(tree: Tree, words: frozenset[str] = PRIVATE_WORDS) -> Iterator[str]:
    """Names with a word that only this project would understand."""
    for place, name in names(tree):
        own = name
        for product in PRODUCTS:
            own = own.replace(product, "")
        for word in _WORD.findall(own):
            if word.lower() in words:
                yield f"{place}: {name}"


def test_first_lines_name_their_subject(tree: Tree) -> None:
    found = questions(tree)
    share = Fraction(len(found), sum(1 for _ in first_lines(tree)))
    shown = "\n".join(found)
    assert share <= QUESTIONS_MAX, f"{float(share):.1%} open with a question word:\n{shown}"


def test_names_are_the_fields_own(tree: Tree) -> None:
    assert list(private(tree)) == []


def test_a_question_is_found(plant: Plant) -> None:
    files = {
        "src/io/a.rs": "//! What it is.\n\n/// The size.\n/// What follows is no first line.\n"
        "#[derive(Debug)]\nstruct A;\n/// Whether it is.\nfn a() {}\n//// Why\n// How\n",
        "tests/py/a.py": '"""How it works."""\n\n\ndef a():\n    """Return what it is."""\n\n\n'
        'class B:\n    """Whose it is."""\n',
    }
    assert questions(plant(files)) == [
        "src/io/a.rs:1: What it is.",
        "src/io/a.rs:7: Whether it is.",
        "tests/py/a.py: module: How it works.",
        "tests/py/a.py: B: Whose it is.",
    ]


def test_a_private_word_is_found_in_every_kind_of_name(plant: Plant) -> None:
    files = {
        "src/io/keeper.rs": "",
        "src/io/a.rs": "struct A {\n    pub(super) keeper: u8,\n    other: u8,\n}\n"
        "enum HouseKeeper { B }\nstruct ZooKeeperClient;\nfn keeper_of() { let keeper = 1; }\n"
        "mod goalkeeper {}\n",
        "tests/py/a.py": "class KeeperA:\n    keeper: int\n\n    def keeper(self): ...\n",
    }
    found = list(private(plant(files), frozenset({"keeper"})))
    assert found == [
        "src/io/keeper.rs: keeper",
        "src/io/a.rs:7: keeper_of",
        "src/io/a.rs:5: HouseKeeper",
        "src/io/a.rs:1: keeper",
        "tests/py/a.py:1: KeeperA",
        "tests/py/a.py:2: keeper",
        "tests/py/a.py:4: keeper",
    ]
