"""The docstrings of the package, of its Python modules and of the stubs of native classes."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from doctest import DocTest, DocTestParser
from typing import Any

from pages.blocks import ROOT

PACKAGE = ROOT / "python" / "streamlog"
INTERNAL = PACKAGE / "_core" / "aio.pyi"
"""Internal modules of `streamlog.aio`."""

_Documented = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Docstring:
    """The docstring of a class, a method or a function."""

    path: str
    line: int
    name: str
    """The qualified name, as `Producer.send`."""
    text: str
    is_property: bool
    """True for an attribute, which needs no example."""

    def examples(self, names: dict[str, Any]) -> DocTest:
        """Returns its examples, to be run with these names."""
        return DocTestParser().get_doctest(self.text, names, self.name, self.path, self.line)


def docstrings(*, constructors: bool = False) -> list[Docstring]:
    """Returns all public docstrings; for overloads the last, which is the longest."""
    found: dict[tuple[str, str], Docstring] = {}
    for path in sorted({*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.pyi")} - {INTERNAL}):
        name = path.relative_to(ROOT).as_posix()
        module = ast.parse(path.read_text())
        found[name, ""] = Docstring(name, 1, path.stem, ast.get_docstring(module) or "", False)
        for docstring in _docstrings(name, module, "", constructors):
            found[name, docstring.name] = docstring
    return list(found.values())


def _docstrings(path: str, node: ast.AST, prefix: str, constructors: bool) -> Iterator[Docstring]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, _Documented):
            continue
        if child.name.startswith("_") and not (constructors and child.name == "__new__"):
            continue
        name = prefix + child.name
        text = ast.get_docstring(child)
        if text is not None:
            is_property = any(
                isinstance(decorator, ast.Name) and decorator.id == "property"
                for decorator in child.decorator_list
            )
            yield Docstring(path, child.lineno, name, text, is_property)
        if isinstance(child, ast.ClassDef):
            yield from _docstrings(path, child, name + ".", constructors)
