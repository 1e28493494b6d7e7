"""Inside a layer, modules depend on each other in one direction.

The modules of a folder are its files and the folders in it. A module depends on another when it
names it by a path, or names what the folder's `mod.rs` re-exports from it. Tests do not count.
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
    exports = _exports(tree, folder, depends)
    for path, inside in files.items():
        module = home + [part for part in inside if part != "mod"]
        for named in _named(rust.without_test_modules(rust.mask(tree.read(path)))):
            name = _absolute(named, module)
            if name[: len(home)] != home or len(name) == len(home):
                continue
            first = name[len(home)]
            other = first if first in depends else exports.get(first)
            if other and other != inside[0]:
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


def _exports(tree: Tree, folder: str, modules: Graph) -> dict[str, str]:
    """The names that `mod.rs` re-exports, with the modules they come from."""
    path = f"src/{folder}/mod.rs"
    if path not in tree.paths:
        return {}
    names = (name.split("::") for name in _uses(rust.mask(tree.read(path))))
    return {parts[-1]: parts[0] for parts in names if parts[0] in modules}


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
