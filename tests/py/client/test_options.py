"""The types of options are those of the parameters in the stubs of the native classes."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[3] / "python" / "streamlog"
OPTIONS = {
    "ClientOptions": ("__new__", {"bootstrap"}),
    "ProducerOptions": ("producer", {"key", "value", "encoding"}),
    "ConsumerOptions": ("consumer", {"key", "value", "tombstones"}),
}
"""The method of `Client` that takes the options, and its parameters that are none of them."""


def plain(annotation: ast.expr | None) -> str:
    """Returns an annotation; a name that is private in one of the files is the same without `_`."""
    assert annotation is not None
    return ast.unparse(annotation).replace("_", "")


def classes(path: Path) -> dict[str, ast.ClassDef]:
    """Returns the classes of a module."""
    module = ast.parse(path.read_text())
    return {node.name: node for node in module.body if isinstance(node, ast.ClassDef)}


def parameters(method: str) -> Iterator[tuple[str, str]]:
    """Yields the keyword parameters of a method of the client with their types."""
    client = classes(PACKAGE / "_core" / "__init__.pyi")["Client"]
    methods = [
        node for node in client.body if isinstance(node, ast.FunctionDef) and node.name == method
    ]
    for parameter in methods[-1].args.kwonlyargs:
        yield parameter.arg, plain(parameter.annotation)


@pytest.mark.parametrize("name", OPTIONS)
def test_options_have_the_names_and_types_of_the_parameters(name: str) -> None:
    method, others = OPTIONS[name]
    options = classes(PACKAGE / "arguments" / "options.py")[name]
    typed = {
        node.target.id: plain(node.annotation)
        for node in options.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    expected = {key: kind for key, kind in parameters(method) if key not in others}
    assert typed == expected
