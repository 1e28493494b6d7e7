"""A broker is a value: several live in one process, so nothing belongs to the process itself."""

import re
from collections.abc import Iterator

from tidy.conftest import Plant
from tidy.source import rust
from tidy.source.tree import Tree

_PROCESS_WIDE = re.compile(
    r"\bstatic\s+mut\b|\bthread_local!"
    r"|\bstatic\s+\w+\s*:[^=;]*\b(?:Mutex|RwLock|OnceLock|OnceCell|LazyLock|Atomic\w+|Notify)\b"
)


def process_wide_state(tree: Tree) -> Iterator[str]:
    """Statics that can change, in the engine."""
    for path in tree.matching("src/*.rs"):
        masked = rust.mask(tree.read(path))
        for found in _PROCESS_WIDE.finditer(masked):
            line = rust.line_of(masked, found.start())
            yield f"{path}:{line}: state of the process: give it to the broker's value"


def test_no_state_belongs_to_the_process(tree: Tree) -> None:
    assert list(process_wide_state(tree)) == []


def test_state_of_the_process_is_found(plant: Plant) -> None:
    for state in [
        "static mut COUNT: u8 = 0;",
        "static COUNT: AtomicU64 = AtomicU64::new(0);",
        "static LOGS: OnceLock<Mutex<Vec<Log>>> = OnceLock::new();",
        "thread_local! { static BUFFER: Vec<u8> = const { Vec::new() }; }",
    ]:
        assert len(list(process_wide_state(plant({"src/io/a.rs": state})))) == 1, state
    lawful = 'static NAMES: [&str; 2] = ["a", "b"];\nfn f(x: &\'static Mutex<u8>) {}'
    assert list(process_wide_state(plant({"src/io/a.rs": lawful}))) == []
