"""The tools under test, and the recording of what they do."""

import time
from collections.abc import Generator
from itertools import count

import pytest

import streamlog
from interop.apache.running import Tools
from interop.support.clients import APACHE
from interop.support.results import Results
from interop.support.tools import all_tools, apache_version, expected
from py.support.broker import BrokerProcess

CELLS = pytest.StashKey[dict[str, str]]()
OUTCOMES = expected(all_tools())
# A JVM takes a second or two to start, and a test may start ten of them on a busy machine.
SECONDS = 240
# The time of the first record of a filled topic; each later one is a millisecond younger.
FIRST_MS = int(time.time() * 1000) - 3_600_000
_numbers = count()


def pytest_configure(config: pytest.Config) -> None:
    """Makes room for results."""
    config.addinivalue_line("markers", "tool(name, *cells): what a test tries with which tool")
    config.stash[CELLS] = {}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Gives tests of tools the time that JVMs take."""
    for item in items:
        if item.get_closest_marker("tool"):
            item.add_marker(pytest.mark.timeout(SECONDS))


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Notes what came of the cells: what the table says, for else the test had failed."""
    result = yield
    for marker in pyfuncitem.iter_markers("tool"):
        name, *cells = marker.args
        for cell in cells:
            key = f"{name}: {cell}"
            pyfuncitem.config.stash[CELLS][key] = OUTCOMES[key]
    return result


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Keeps the results of a run without failures, if asked to."""
    if session.config.getoption("--record") and exitstatus == pytest.ExitCode.OK:
        cells: dict[str, str] = session.config.stash[CELLS]
        kept = Results.read(APACHE, apache_version()).cells
        Results(APACHE, apache_version(), {**kept, **cells}).write()


@pytest.fixture(scope="session")
def tools(broker: BrokerProcess) -> Tools:
    """Apache's tools, pointed at the broker of the matrix."""
    return Tools(broker.address)


@pytest.fixture
def name() -> str:
    """A name that no other test uses, for topics and groups."""
    return f"apache-{next(_numbers)}"


@pytest.fixture
def filled(observer: streamlog.Client, name: str) -> str:
    """A topic of two partitions with a thousand records: `line 0` in partition 0, and so on."""
    observer.admin.create_topic(name, partitions=2)
    with observer.producer() as producer:
        for number in range(1000):
            value = f"line {number}".encode()
            producer.send(name, value, partition=number % 2, timestamp=FIRST_MS + number)
    return name
