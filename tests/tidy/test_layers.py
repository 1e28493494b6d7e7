"""Inside src/, a layer imports only what layers.toml allows.

One `use crate::layer::...;` for each layer keeps an import readable to people and to this rule.
That the names are the layer's public ones is the compiler's to see: its modules are private.
The lowest layers need few packages of others, so that the engine can be embedded.
"""

import re
import subprocess
import tomllib
from collections.abc import Iterator

from tidy.conftest import Plant
from tidy.source import rust
from tidy.source.tree import ROOT, Tree

LAYERS: dict[str, list[str]] = tomllib.loads((ROOT / "tests/tidy/layers.toml").read_text())
OPEN_TO_ALL = "types"
# Of a program that embeds the engine and uses nothing else.
PACKAGES_MAX = 60
_PATH = re.compile(r"\bcrate::(\{|\*|\w+)")


def offences(tree: Tree) -> Iterator[str]:
    """Every import that breaks a rule, and every folder without a layer."""
    for path in tree.matching("src/*/*.rs"):
        layer = path.split("/")[1]
        if layer == "bin":
            continue
        if layer not in LAYERS:
            yield f"{path}: layers.toml does not know the layer {layer}"
            continue
        masked = rust.mask(tree.read(path))
        yield from _upward_paths(path, masked)
        for found in _PATH.finditer(masked):
            fault = _fault(layer, found[1])
            if fault:
                yield f"{path}:{rust.line_of(masked, found.start())}: {fault}"


def _fault(layer: str, target: str) -> str | None:
    if target in "{*":
        return "one `use crate::layer::...;` per layer, not a list of layers"
    if target not in LAYERS:
        return f"crate::{target} is no layer"
    if target not in (layer, OPEN_TO_ALL, *LAYERS[layer]):
        return f"{layer} may not import {target}"
    return None


def _upward_paths(path: str, masked: str) -> Iterator[str]:
    """`super` may not climb out of the layer, where the rule above could not see it."""
    is_root = path.count("/") == 2 and path.endswith("/mod.rs")
    forbidden = r"\bsuper::" if is_root else r"\bsuper::super\b"
    for found in re.finditer(forbidden, masked):
        yield f"{path}:{rust.line_of(masked, found.start())}: say crate::layer::, not {found[0]}"


def test_every_layer_imports_only_what_it_may(tree: Tree) -> None:
    assert list(offences(tree)) == []


def unused(tree: Tree, layers: dict[str, list[str]]) -> Iterator[str]:
    """Imports that are allowed and that no file makes."""
    made = {layer: set[str]() for layer in layers}
    for path in tree.matching("src/*/*.rs"):
        targets = (found[1] for found in _PATH.finditer(rust.mask(tree.read(path))))
        made.setdefault(path.split("/")[1], set()).update(targets)
    for layer, allowed in layers.items():
        for target in allowed:
            if target not in made[layer]:
                yield f"layers.toml: {layer} does not import {target}"


def test_every_import_that_is_allowed_is_made(tree: Tree) -> None:
    assert list(unused(tree, LAYERS)) == []


def test_an_unused_import_is_found(plant: Plant) -> None:
    tree = plant({"src/wire/a.rs": "use crate::io::File;"})
    assert list(unused(tree, {"io": [], "wire": ["io"]})) == []
    assert list(unused(tree, {"io": [], "record": [], "wire": ["io", "record"]})) == [
        "layers.toml: wire does not import record"
    ]


def test_the_rules_go_only_downwards() -> None:
    order = list(LAYERS)
    for layer, allowed in LAYERS.items():
        assert set(allowed) <= set(order[: order.index(layer)]), layer


def test_an_import_upwards_is_found_wherever_it_hides(plant: Plant) -> None:
    bodies = [
        "use crate::storage::Log;",
        "fn f() { crate::storage::open(); }",
        "use crate::{record, storage};",
        "use super::super::storage::Log;",
        "use crate::*;",
        "use crate::nowhere::Thing;",
    ]
    for body in bodies:
        assert len(list(offences(plant({"src/wire/frame.rs": body})))) >= 1, body
    assert list(offences(plant({"src/wire/mod.rs": "use super::storage::Log;"})))
    assert list(offences(plant({"src/queue/mod.rs": ""})))


def test_a_lawful_import_passes(plant: Plant) -> None:
    lawful = "use crate::record::{Batch, golden};\nuse crate::types::Offset;\n"
    own = "use crate::storage::Segment; // crate::metadata\n"
    assert list(offences(plant({"src/storage/log.rs": lawful + own}))) == []


def packages(*features: str) -> set[str]:
    """Name the packages that cargo compiles for these features, build scripts included."""
    tree = subprocess.run(
        ["cargo", "tree", "--locked", "--edges", "normal,build", "--prefix", "none", *features],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    return {line.removesuffix(" (*)") for line in tree.stdout.splitlines() if line}


def test_the_engine_alone_compiles_few_packages() -> None:
    embedded = packages()
    assert len(embedded) <= PACKAGES_MAX, sorted(embedded)
    names = {package.split()[0] for package in embedded}
    assert not names & {"clap", "csv", "indicatif", "mio", "socket2", "tracing-subscriber"}


def test_the_command_line_brings_the_others() -> None:
    assert {"clap", "indicatif"} <= {package.split()[0] for package in packages("--features=cli")}
