"""A module opens with what it owns, is named by a noun, and `mod.rs` is a table of contents."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from tidy.conftest import Plant
from tidy.source import rust
from tidy.source.tree import Tree

# Names that say nothing about what is inside.
_NO_NAME = re.compile(r"(?:.*_)?(?:util|helper|common|misc|impl|stuff)s?(?:_.*)?|.*[a-z]2")

# What `mod.rs` and `lib.rs` may consist of: attributes, modules, public names.
_CONTENTS = re.compile(
    r"""
      \#!?\[[^\]]*\]
    | (?:pub(?:\([^)]+\))?\s+)?mod\s+\w+\s*;
    | pub(?:\([^)]+\))?\s+use\s+[^;]+;
    | \s+
    """,
    re.VERBOSE,
)


def headless(tree: Tree) -> Iterator[str]:
    """Rust files that do not say what they own."""
    for path in tree.matching("*.rs"):
        if not tree.read(path).startswith("//! "):
            yield f"{path}: a module opens with `//!` and what it owns"


def nameless(tree: Tree) -> Iterator[str]:
    """Files and folders whose name is no noun of the field."""
    for path in tree.matching("*.rs", "*.py", "*.pyi"):
        for part in PurePosixPath(path).with_suffix("").parts:
            if _NO_NAME.fullmatch(part):
                yield f"{path}: '{part}' says nothing about what is inside"


def tables_with_code(tree: Tree) -> Iterator[str]:
    """Tables of contents that contain more than contents."""
    for path in tree.matching("src/lib.rs", "src/*/mod.rs"):
        masked = rust.mask(tree.read(path))
        rest = _CONTENTS.sub("", masked)
        if rest:
            yield f"{path}: only attributes, `mod` and `pub use` belong here, not '{rest}'"


def half_public_modules(tree: Tree) -> Iterator[str]:
    """Modules of a layer that other layers could reach past its public names."""
    for path in tree.matching("src/*/mod.rs"):
        for found in re.finditer(r"pub\([^)]*\)\s+mod\s+(\w+)", rust.mask(tree.read(path))):
            if path.count("/") == 2:
                yield f"{path}: {found[1]} is the layer's own or public, nothing between"


def files_beside_their_folder(tree: Tree) -> Iterator[str]:
    """`log.rs` beside `log/`: one of two places too many."""
    folders = tree.folders()
    for path in tree.matching("src/*.rs"):
        if path.removesuffix(".rs") in folders:
            yield f"{path}: its place is {path.removesuffix('.rs')}/mod.rs"


def test_every_module_says_what_it_owns(tree: Tree) -> None:
    assert list(headless(tree)) == []


def test_every_module_is_named_by_a_noun(tree: Tree) -> None:
    assert list(nameless(tree)) == []


def test_tables_of_contents_hold_only_contents(tree: Tree) -> None:
    assert list(tables_with_code(tree)) == []


def test_a_layer_is_reached_by_its_public_names(tree: Tree) -> None:
    assert list(half_public_modules(tree)) == []


def test_a_module_has_one_place(tree: Tree) -> None:
    assert list(files_beside_their_folder(tree)) == []


def test_a_module_without_header_is_found(plant: Plant) -> None:
    files = {"src/io/a.rs": "use std::io;\n", "src/io/b.rs": "//! What b owns.\n"}
    assert len(list(headless(plant(files)))) == 1


def test_a_name_that_says_nothing_is_found(plant: Plant) -> None:
    bad = ["utils", "log_utils", "helper", "common", "misc", "log_impl", "impl_log", "send2"]
    good = ["uncommon", "implied", "crc32", "crc32c", "miscount"]
    tree = plant({f"src/io/{name}.rs": "" for name in bad + good} | {"src/helpers/log.rs": ""})
    found = {offence.split("'")[1] for offence in nameless(tree)}
    assert found == {*bad, "helpers"}


def test_code_in_a_table_of_contents_is_found(plant: Plant) -> None:
    contents = """//! What it owns: `fn`.
#![deny(clippy::indexing_slicing)]

mod log;
pub mod golden;
#[cfg(test)]
mod log_tests;

pub use log::{Log, Tail};
pub(in crate::log) use log::Hidden;
"""
    for code in [
        "fn f() {}",
        "use std::io;",
        "const A: u8 = 1;",
        "mod inline { }",
    ]:
        files = {"src/io/mod.rs": contents, "src/log/mod.rs": contents + code}
        assert [o.split(":")[0] for o in tables_with_code(plant(files))] == ["src/log/mod.rs"], code


def test_a_half_public_module_of_a_layer_is_found(plant: Plant) -> None:
    files = {
        "src/io/mod.rs": "pub(crate) mod file;\nmod a;\npub mod b;\n",
        "src/broker/handlers/mod.rs": "pub(crate) mod produce;\n",
    }
    assert len(list(half_public_modules(plant(files)))) == 1


def test_a_file_beside_its_folder_is_found(plant: Plant) -> None:
    assert len(list(files_beside_their_folder(plant({"src/a.rs": "", "src/a/b.rs": ""})))) == 1
