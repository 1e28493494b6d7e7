"""Inside a layer, modules depend on each other in one direction.

The modules of a folder are its files and the folders in it. A module depends on another when it
names it by a path, or names what the `mod.rs` of the folder, or of one above, re-exports from it.
Tests do not count.
"""

import re
from collections.abc import Iterator
from itertools import dropwhile
from pathlib import PurePosixPath

from tidy.conftest import Plant
from tidy.source import rust
from tidy.source.tree import Tree

_USE = re.compile(r"\buse\s+([^;]+);")
_PATH = re.compile(r"\b((?:crate|super|self)(?:::\w+)+)")
_MODULE = re.compile(r"\bmod\s+(\w+)\s*;")
_GROUP = re.compile(r"((?:\w+::)*)\{(.*)\}", re.DOTALL)

Graph = dict[str, set[str]]


def graph(tree: Tree, folder: str) -> Graph:
    """The modules of a folder below `src/`, with those that each depends on."""
    home = ["crate", *PurePosixPath(folder).parts]
    files: dict[str, tuple[str, ...]] = {}
    for path in tree.matching(f"src/{folder}/*.rs"):
        inside = PurePosixPath(path).relative_to(f"src/{folder}").with_suffix("").parts
        if inside != ("mod",) and not any(map(_is_test, inside)):
            files[path] = inside
    depends: Graph = {inside[0]: set() for inside in files.values()}
    origin = Origins(tree)
    for path, inside in files.items():
        module = home + [part for part in inside if part != "mod"]
        for named in _named(rust.without_test_modules(rust.mask(tree.read(path)))):
            name = origin.of(_absolute(named, module))
            if name[: len(home)] != home or len(name) == len(home):
                continue
            other = name[len(home)]
            if other in depends and other != inside[0]:
                depends[inside[0]].add(other)
    return depends


def circle(depends: Graph) -> list[str]:
    """The modules on or between circles: all that is left once free ones are taken away."""
    left = {module: set(others) for module, others in depends.items()}
    while True:
        used = set().union(*left.values())
        free = {module for module, others in left.items() if not others or module not in used}
        if not free:
            return sorted(left)
        left = {module: others - free for module, others in left.items() if module not in free}


def folders(tree: Tree) -> list[str]:
    """The folders below `src/` that hold modules."""
    paths = (PurePosixPath(path).parent for path in tree.matching("src/*/*.rs"))
    found = {str(path.relative_to("src")) for path in paths if len(path.parts) > 1}
    return sorted(folder for folder in found if not any(map(_is_test, folder.split("/"))))


def _is_test(part: str) -> bool:
    return part == "tests" or part.endswith("_tests")


class Origins:
    """The modules that define the names which a `mod.rs` re-exports."""

    def __init__(self, tree: Tree) -> None:
        """Reads each `mod.rs` once, when it is needed."""
        self._tree = tree
        self._known: dict[str, dict[str, list[str]]] = {}

    def of(self, name: list[str]) -> list[str]:
        """The absolute name of the definition, as far as it is found by re-exports."""
        for length in range(1, len(name)):
            exports = self._exports("/".join(name[1:length]))
            inner = exports.get(name[length])
            if inner is not None:
                return self.of([*name[:length], *inner, *name[length + 1 :]])
        return name

    def _exports(self, folder: str) -> dict[str, list[str]]:
        """The names that a folder re-exports from its own modules, with their paths from there."""
        if folder not in self._known:
            path = f"src/{folder}/mod.rs" if folder else "src/lib.rs"
            masked = rust.mask(self._tree.read(path)) if path in self._tree.paths else ""
            modules = set(_MODULE.findall(masked))
            names = (name.removeprefix("self::").split("::") for name in _uses(masked))
            inner = {parts[-1]: parts for parts in names if parts[0] in modules}
            self._known[folder] = {n: p for n, p in inner.items() if n not in modules and p != [n]}
        return self._known[folder]


def _named(masked: str) -> Iterator[str]:
    yield from _uses(masked)
    for found in _PATH.finditer(_USE.sub("", masked)):
        yield found[1]


def _uses(masked: str) -> Iterator[str]:
    for found in _USE.finditer(masked):
        yield from _leaves(found[1].strip())


def _leaves(name: str) -> Iterator[str]:
    """The paths that a `use` stands for, one by one."""
    group = _GROUP.fullmatch(name)
    if group is None:
        yield re.sub(r"\s+as\s+\w+$", "", name)
        return
    for part in rust.items(group[2]):
        yield from (group[1] + leaf for leaf in _leaves(part))


def _absolute(name: str, module: list[str]) -> list[str]:
    parts = [part for part in name.split("::") if part != "self"]
    levels = len(parts) - len([*dropwhile(lambda part: part == "super", parts)])
    return module[:-levels] + parts[levels:] if levels else parts


def test_no_modules_depend_on_each_other_in_a_circle(tree: Tree) -> None:
    circles = {folder: circle(graph(tree, folder)) for folder in folders(tree)}
    assert {folder: modules for folder, modules in circles.items() if modules} == {}


def test_a_circle_is_found_however_it_is_written(plant: Plant) -> None:
    top = "mod a;\nmod b;\npub use a::First;\npub use b::Second;"
    for back in ["use super::First;", "use crate::wire::a::First;", "fn f() { super::a::f(); }"]:
        tree = plant(
            {
                "src/wire/mod.rs": top,
                "src/wire/a.rs": "use crate::wire::{Second, WireError};",
                "src/wire/b.rs": back,
            }
        )
        assert circle(graph(tree, "wire")) == ["a", "b"], back


def test_a_circle_through_what_a_folder_above_re_exports_is_found(plant: Plant) -> None:
    tree = plant(
        {
            "src/io/mod.rs": "mod wait;\npub use wait::{First, Second};",
            "src/io/wait/mod.rs": "mod a;\nmod b;\npub use a::First;\npub use b::Second;",
            "src/io/wait/a.rs": "use crate::io::Second;",
            "src/io/wait/b.rs": "use crate::io::First;",
        }
    )
    assert circle(graph(tree, "io/wait")) == ["a", "b"]


def test_what_depends_one_way_is_no_circle(plant: Plant) -> None:
    tree = plant(
        {
            "src/wire/mod.rs": "mod a;\nmod b;\npub use a::First;",
            "src/wire/a.rs": "#[cfg(test)]\nmod tests { use crate::wire::b::Second; }",
            "src/wire/b.rs": "use super::First; // and crate::wire::b",
            "src/wire/a_tests.rs": "use crate::wire::b::Second;",
        }
    )
    assert circle(graph(tree, "wire")) == []
