"""Every public callable has examples in its docstring, and they run."""

import ast
import inspect
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, DocTestRunner
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import streamlog
from pages import loops
from pages.blocks import ROOT
from pages.docstrings import Docstring, docstrings

RULES = ELLIPSIS | NORMALIZE_WHITESPACE
ELSEWHERE = ("python/streamlog/aio/", "python/streamlog/spark/")
"""Modules tested elsewhere: asyncio by test_aio_docstrings, Spark by tests/spark."""
ALL = [found for found in docstrings() if not found.path.startswith(ELSEWHERE)]
WITH_EXAMPLES = [docstring for docstring in ALL if docstring.examples({}).examples]
NATIVE = [
    found for found in ALL if found.path.endswith(".pyi") and found.name.lower() != found.name
]
"""The native classes, and their members."""

CALLED = [found for found in NATIVE if "." in found.name and not found.is_property]
MADE = {
    found.name.removesuffix(".__new__"): found.text
    for found in docstrings(constructors=True)
    if found.name.endswith(".__new__")
}
"""Constructors, whose arguments `help` shows with the class."""

NOT_PROVOKED = {
    "AuthenticationError",
    "AuthorizationError",
    "FencedError",
    "ForkError",
    "MissingExtra",
    "RecordsLost",
}
"""Errors that an example cannot provoke: of permissions, which do not exist yet, of processes, of
packages, which are installed, and of replicas that one broker does not have."""


@pytest.fixture
def names() -> Iterator[dict[str, Any]]:
    """Returns the names that the examples use; docs/api/index.rst describes them for readers."""
    with streamlog.Broker() as broker, broker.connect() as client:
        with client.producer() as producer:
            for number, key in enumerate([b"ada", b"grace", b"ada"]):
                producer.send("orders", json.dumps({"id": number}).encode(), key=key)
        yield {
            "ThreadPoolExecutor": ThreadPoolExecutor,
            "broker": broker,
            "client": client,
            "datetime": datetime,
            "json": json,
            "pyarrow": pyarrow,
            "streamlog": streamlog,
            "timedelta": timedelta,
            "timezone": timezone,
        }


@pytest.mark.parametrize("docstring", WITH_EXAMPLES, ids=lambda found: found.name)
def test_the_example_does_what_it_shows(docstring: Docstring, names: dict[str, Any]) -> None:
    said: list[str] = []
    with loops.ended():
        # By default the runner takes the `-v` of pytest as its own, and reports successes.
        runner = DocTestRunner(verbose=False, optionflags=RULES)
        runner.run(docstring.examples(names), out=said.append)
    assert said == [], "".join(said)


def test_everything_that_is_exported_has_an_example() -> None:
    classes = {name for name in streamlog.__all__ if isinstance(getattr(streamlog, name), type)}
    shown = {docstring.name for docstring in WITH_EXAMPLES}
    assert classes - shown - {"connect"} == NOT_PROVOKED


def test_every_method_has_an_example() -> None:
    shown = {docstring.name for docstring in WITH_EXAMPLES}
    missing = [
        docstring.name
        for docstring in ALL
        if docstring.name.split(".")[0] in streamlog.__all__
        and not docstring.is_property
        and docstring.name not in shown | NOT_PROVOKED
    ]
    assert missing == []


@pytest.mark.parametrize("docstring", NATIVE, ids=lambda found: found.name)
def test_help_shows_what_the_stubs_say(docstring: Docstring) -> None:
    shown = inspect.getdoc(native(docstring)) or ""
    made = MADE.get(docstring.name)
    assert shown == (docstring.text if made is None else f"{docstring.text}\n\n{made}")


@pytest.mark.parametrize("docstring", CALLED, ids=lambda found: found.name)
def test_help_shows_the_signature_with_its_defaults(docstring: Docstring) -> None:
    parameters = inspect.signature(native(docstring)).parameters.values()
    shown = [
        (parameter.name, parameter.kind, parameter.default)
        for parameter in parameters
        if parameter.name != "self"
    ]
    assert shown == stubbed(docstring)


def native(docstring: Docstring) -> Callable[..., object]:
    """Returns the class, method or function at run time."""
    stub = Path(docstring.path).relative_to("python").with_suffix("")
    found: Any = import_module(".".join(part for part in stub.parts if part != "__init__"))
    for name in docstring.name.split("."):
        found = getattr(found, name)
    assert found is not None
    native: Callable[..., object] = found
    return native


def stubbed(docstring: Docstring) -> list[tuple[str, object, object]]:
    """Returns the parameters in the stub: names, kinds and defaults."""
    owner, name = docstring.name.split(".")
    module = ast.parse((ROOT / docstring.path).read_text())
    [found] = [
        node for node in module.body if isinstance(node, ast.ClassDef) and node.name == owner
    ]
    methods = [
        node.args for node in found.body if isinstance(node, ast.FunctionDef) and node.name == name
    ]
    # A parameter may be required in one overload and optional in another.
    defaults: dict[str, object] = {}
    for method in methods:
        plain = method.args[len(method.args) - len(method.defaults) :]
        for argument, default in zip(plain, method.defaults, strict=True):
            defaults[argument.arg] = ast.literal_eval(default)
        for argument, given in zip(method.kwonlyargs, method.kw_defaults, strict=True):
            if given is not None:
                defaults[argument.arg] = ast.literal_eval(given)
    last = methods[-1]
    kinds: dict[str, object] = {
        argument.arg: inspect.Parameter.POSITIONAL_OR_KEYWORD for argument in last.args[1:]
    }
    kinds |= {argument.arg: inspect.Parameter.KEYWORD_ONLY for argument in last.kwonlyargs}
    empty = inspect.Parameter.empty
    return [(argument, kind, defaults.get(argument, empty)) for argument, kind in kinds.items()]
