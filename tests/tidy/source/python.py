"""Just enough reading of Python for the rules: where functions are and what they take."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Function:
    """A function.

    `parameters` leaves out self, cls and the keyword-only ones, which are options.
    """

    name: str
    line: int
    lines: int
    parameters: int


def functions(source: str) -> Iterator[Function]:
    """All functions, nested ones and methods included."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
            if names[:1] in (["self"], ["cls"]):
                names = names[1:]
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            yield Function(node.name, node.lineno, lines, len(names))


def names(source: str) -> Iterator[tuple[str, int]]:
    """The names of classes, functions and annotated fields, each with its line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, node.lineno
