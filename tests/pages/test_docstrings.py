"""The examples in docstrings run, and there is one for everything that can be called."""

import inspect
import json
from collections.abc import Iterator
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
from pages.docstrings import Docstring, docstrings

RULES = ELLIPSIS | NORMALIZE_WHITESPACE
ELSEWHERE = ("python/streamlog/aio/", "python/streamlog/spark/")
"""Those on an event loop have their own test; those of Spark run with the tests on Spark."""
ALL = [found for found in docstrings() if not found.path.startswith(ELSEWHERE)]
WITH_EXAMPLES = [docstring for docstring in ALL if docstring.examples({}).examples]
NATIVE = [
    found for found in ALL if found.path.endswith(".pyi") and found.name.lower() != found.name
]
"""The classes that are written in Rust, and what is in them."""

NOT_PROVOKED = {
    "AuthenticationError",
    "AuthorizationError",
    "FencedError",
    "ForkError",
    "MissingExtra",
}
"""Errors that a few lines cannot bring about: of rights there are not yet, of processes, and of
packages that are here."""


@pytest.fixture
def names() -> Iterator[dict[str, Any]]:
    """What the examples begin with; docs/api/index.rst tells it to those who read them."""
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
        # Unless told otherwise it takes the `-v` of pytest for its own, and says what went well.
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
def test_help_shows_the_first_line_of_what_the_stubs_say(docstring: Docstring) -> None:
    stub = Path(docstring.path).relative_to("python").with_suffix("")
    found: Any = import_module(".".join(part for part in stub.parts if part != "__init__"))
    for name in docstring.name.split("."):
        found = getattr(found, name)
    assert (inspect.getdoc(found) or "").split("\n")[0] == docstring.text.split("\n")[0]
