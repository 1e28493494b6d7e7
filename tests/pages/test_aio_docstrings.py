"""The examples in the docstrings of `streamlog.aio` run, each on its own event loop."""

import asyncio
import io
import json
from ast import PyCF_ALLOW_TOP_LEVEL_AWAIT
from contextlib import redirect_stdout
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, Example, OutputChecker
from types import FunctionType
from typing import Any

import pytest

import streamlog
import streamlog.aio
from pages.docstrings import Docstring, docstrings

RULES = ELLIPSIS | NORMALIZE_WHITESPACE
WITH_EXAMPLES = [
    found
    for found in docstrings()
    if found.path.startswith("python/streamlog/aio/") and found.examples({}).examples
]
AT_LEAST = {"Admin", "Client", "Partition", "Producer.send", "Ticket", "Topic", "__init__"}


async def printed(example: Example, names: dict[str, Any]) -> str:
    """Runs an example, and returns its output with the repr of its value."""
    code = compile(example.source, "<example>", "single", PyCF_ALLOW_TOP_LEVEL_AWAIT)
    with redirect_stdout(io.StringIO()) as out:
        running = FunctionType(code, names)()
        if running is not None:
            await running
    return out.getvalue()


async def follow(docstring: Docstring, broker: streamlog.Broker) -> None:
    """Runs the examples, with a client on this loop."""
    async with streamlog.aio.connect(broker.address) as client:
        names = {"broker": broker, "client": client, "streamlog": streamlog}
        for example in docstring.examples({}).examples:
            got = await printed(example, names)
            assert OutputChecker().check_output(example.want, got, RULES), (example.source, got)


@pytest.mark.parametrize("docstring", WITH_EXAMPLES, ids=lambda found: found.name)
def test_the_example_does_what_it_shows(docstring: Docstring) -> None:
    with streamlog.Broker() as broker, broker.connect() as client:
        with client.producer() as producer:
            for number, key in enumerate([b"ada", b"grace", b"ada"]):
                producer.send("orders", json.dumps({"id": number}).encode(), key=key)
        asyncio.run(follow(docstring, broker))


def test_the_main_asynchronous_calls_have_examples() -> None:
    assert {docstring.name for docstring in WITH_EXAMPLES} >= AT_LEAST
