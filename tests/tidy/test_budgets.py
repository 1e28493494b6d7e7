"""Files, functions, lines, parameters, folders and error enums stay small.

What is over its budget hides a noun that is missing. There is no list of exceptions.
"""

from collections.abc import Iterator

from tidy.conftest import Plant
from tidy.source import python, rust
from tidy.source.tree import Tree

FILE_LINES = 500
TEST_FILE_LINES = 800
INLINE_TEST_LINES = 100
FUNCTION_LINES = 70
LINE_CHARACTERS = 100
PARAMETERS = 5
FOLDER_FILES = 14
ERROR_CASES = 12
SMALL_FILE_LINES = 40
SMALL_FILES = 40
README_LINES = 120

# In these folders one file per API, verb, record of a decision or fixture is the rule.
ONE_FILE_EACH = (
    "docs/decisions",
    "src/broker/handlers",
    "src/cli",
    "src/wire/messages",
    "tests/fixtures",
)


def long_files(tree: Tree) -> Iterator[str]:
    """Files with too many lines; inline tests of Rust count apart."""
    for path in tree.matching("*.rs", "*.py", "*.pyi"):
        source = tree.read(path)
        lines = source.count("\n")
        if path.endswith(".rs"):
            production = rust.without_test_modules(rust.mask(source)).count("\n")
            if lines - production > INLINE_TEST_LINES:
                yield f"{path}: {lines - production} lines of inline tests: give them a file"
            lines = production
        is_test = path.startswith("tests/") or path.endswith("_tests.rs")
        if lines > (TEST_FILE_LINES if is_test else FILE_LINES):
            yield f"{path}: {lines} lines"
    readme = tree.read("README.md").count("\n") if "README.md" in tree.paths else 0
    if readme > README_LINES:
        yield f"README.md: {readme} lines"


def small_files(tree: Tree) -> Iterator[str]:
    """Modules with so few lines that they may belong to a noun beside them."""
    for path in tree.matching("src/*.rs"):
        if not path.endswith(("/mod.rs", "_tests.rs")):
            production = rust.without_test_modules(rust.mask(tree.read(path))).count("\n")
            if production < SMALL_FILE_LINES:
                yield f"{path}: {production} lines"


def long_functions(tree: Tree) -> Iterator[str]:
    """Functions with too many lines or parameters."""
    for path in tree.matching("*.rs", "*.py"):
        source = tree.read(path)
        found: Iterator[rust.Function | python.Function] = (
            rust.functions(rust.mask(source)) if path.endswith(".rs") else python.functions(source)
        )
        for function in found:
            where = f"{path}:{function.line}: {function.name}"
            if function.lines > FUNCTION_LINES:
                yield f"{where} has {function.lines} lines"
            if function.parameters > PARAMETERS:
                yield f"{where} has {function.parameters} parameters"


def long_lines(tree: Tree) -> Iterator[str]:
    """Lines that do not fit beside another file; a row of a table in a comment cannot be broken."""
    for path in tree.matching("*.rs", "*.py", "*.pyi"):
        for number, line in enumerate(tree.read(path).splitlines(), start=1):
            if len(line) > LINE_CHARACTERS and not line.lstrip().startswith(("//! |", "/// |")):
                yield f"{path}:{number}: {len(line)} characters"


def full_folders(tree: Tree) -> Iterator[str]:
    """Folders in which nobody finds anything; tables of contents and tests are no nouns."""
    for folder, files in tree.folders().items():
        names = [name for name in files if name != "mod.rs" and not name.endswith("_tests.rs")]
        if len(names) > FOLDER_FILES and folder != "." and not folder.startswith(ONE_FILE_EACH):
            yield f"{folder}: {len(names)} files"


def wide_errors(tree: Tree) -> Iterator[str]:
    """Error enums with more cases than a caller can tell apart."""
    for path in tree.matching("*.rs"):
        for enum in rust.enums(rust.mask(tree.read(path))):
            is_error = "Error" in enum.attributes or enum.name.endswith("Error")
            if is_error and enum.cases > ERROR_CASES:
                yield f"{path}:{enum.line}: {enum.name} has {enum.cases} cases"


def test_no_file_is_too_long(tree: Tree) -> None:
    assert list(long_files(tree)) == []


def test_only_a_few_files_are_small(tree: Tree) -> None:
    small = list(small_files(tree))
    assert len(small) <= SMALL_FILES, f"merge by noun some of these: {small}"


def test_no_function_is_too_long_or_takes_too_much(tree: Tree) -> None:
    assert list(long_functions(tree)) == []


def test_no_line_is_too_long(tree: Tree) -> None:
    assert list(long_lines(tree)) == []


def test_no_folder_is_too_full(tree: Tree) -> None:
    assert list(full_folders(tree)) == []


def test_no_error_has_too_many_cases(tree: Tree) -> None:
    assert list(wide_errors(tree)) == []


def test_a_long_file_is_found_and_its_tests_count_apart(plant: Plant) -> None:
    tests = "#[cfg(test)]\nmod tests {\n" + "\n" * 97 + "}\n"
    files = {
        "src/io/long.rs": "\n" * 501,
        "src/io/long_tests.rs": "\n" * 501,
        "src/io/longer_tests.rs": "\n" * 801,
        "src/io/tested.rs": "\n" * 499 + tests,
        "src/io/untested.rs": tests.replace("\n}", "\n\n\n\n}"),
        "python/streamlog/long.py": "\n" * 501,
        "README.md": "\n" * 121,
    }
    names = [offence.split(":")[0] for offence in long_files(plant(files))]
    assert names == [
        "python/streamlog/long.py",
        "src/io/long.rs",
        "src/io/longer_tests.rs",
        "src/io/untested.rs",
        "README.md",
    ]


def test_a_small_file_is_found(plant: Plant) -> None:
    files = {
        "src/io/small.rs": "\n" * 38 + "#[cfg(test)]\nmod tests {\n" + "\n" * 20 + "}\n",
        "src/io/enough.rs": "\n" * 40,
        "src/io/mod.rs": "\n",
        "src/io/small_tests.rs": "\n",
        "tests/it/small.rs": "\n",
    }
    assert [offence.split(":")[0] for offence in small_files(plant(files))] == ["src/io/small.rs"]


def test_a_long_function_is_found(plant: Plant) -> None:
    files = {
        "src/io/a.rs": "fn f() {\n" + "\n" * 69 + "}\n",
        "src/io/b.rs": "fn f() {\n" + "\n" * 68 + "}\n",
        "tests/py/a.py": "def f():\n" + "    1\n" * 70,
    }
    assert len(list(long_functions(plant(files)))) == 2


def test_a_function_that_takes_too_much_is_found(plant: Plant) -> None:
    files = {
        "src/io/a.rs": "fn f(a: u8, b: u8, c: u8, d: u8, e: u8, f: u8) {}",
        "src/io/b.rs": "fn f(&self, a: u8, b: u8, c: u8, d: u8, e: u8) {}",
        "tests/py/a.py": "def f(a, b, c, d, e, f): ...",
        "tests/py/b.py": "def f(self, a, b, c, d, e, *, option, other): ...",
    }
    assert len(list(long_functions(plant(files)))) == 2


def test_a_long_line_is_found(plant: Plant) -> None:
    files = {
        "src/io/a.rs": "//" + "x" * 99 + "\n//! | " + "x" * 99 + " |",
        "tests/py/a.py": "#" + "x" * 99,
    }
    assert len(list(long_lines(plant(files)))) == 1


def test_a_full_folder_is_found(plant: Plant) -> None:
    files = {f"src/storage/part_{n}.rs": "" for n in range(15)}
    files |= {"src/io/mod.rs": ""} | {f"src/io/part_{n}_tests.rs": "" for n in range(15)}
    verbs = {f"src/cli/verb_{n}.rs": "" for n in range(15)}
    assert list(full_folders(plant({**files, **verbs}))) == ["src/storage: 15 files"]


def test_a_wide_error_is_found(plant: Plant) -> None:
    cases = ", ".join(f"Case{n}" for n in range(13))
    files = {
        "src/io/a.rs": f"#[derive(Debug, thiserror::Error)]\npub enum Refusal {{ {cases} }}",
        "src/io/b.rs": f"enum LogError {{ {cases} }}",
        "src/io/c.rs": f"enum ApiKey {{ {cases} }}",
    }
    assert len(list(wide_errors(plant(files)))) == 2
