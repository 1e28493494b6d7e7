"""Which clients take part, their drivers, and the recording of what works."""

from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from itertools import count
from pathlib import Path

import pytest

import streamlog
from interop.support.clients import APACHE, INTEROP, PYTHON, Client, chosen
from interop.support.driver import Driver, Unsupported
from interop.support.results import WORKS, Results
from py.support.broker import BrokerProcess

CLIENTS = pytest.StashKey[list[Client]]()
CELLS = pytest.StashKey[defaultdict[Client, dict[str, str]]]()
# Topics are created by who needs them, members that join late shall not wait for others, and a test
# waits for retention.
SETTINGS = (
    "auto.create.topics.enable=false",
    "group.min.session.timeout.ms=1000",
    "log.retention.check.interval.ms=300",
)

Launch = Callable[[Client], Driver]
_numbers = count()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options that choose clients and keep results."""
    group = parser.getgroup("interop")
    group.addoption("--clients", default=PYTHON, help="families or names, by commas; all")
    group.addoption("--record", action="store_true", help="keep the results for the page")


def pytest_configure(config: pytest.Config) -> None:
    """Looks the chosen clients up."""
    config.addinivalue_line("markers", "feature(cell): the cell of the matrix that a test fills")
    config.stash[CLIENTS] = chosen(config.getoption("--clients").split(","))
    cells: defaultdict[Client, dict[str, str]] = defaultdict(dict)
    config.stash[CELLS] = cells


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves Apache's tools out where nobody chose them."""
    chosen_families = config.getoption("--clients").split(",")
    is_left_out = collection_path == INTEROP / APACHE and not {APACHE, "all"} & set(chosen_families)
    return True if is_left_out else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs what takes a `client` once for each."""
    if "client" in metafunc.fixturenames and "writer" not in metafunc.fixturenames:
        clients = metafunc.config.stash[CLIENTS]
        metafunc.parametrize("client", clients, ids=[client.name for client in clients])


def _cell(item: pytest.Function) -> str | None:
    marker = item.get_closest_marker("feature")
    return marker.args[0] if marker else None


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Holds a client to its limits, and notes what came of the cell."""
    cell = _cell(pyfuncitem)
    if cell is None:
        return (yield)
    client = pyfuncitem.callspec.params["client"]
    assert isinstance(client, Client)
    cells = pyfuncitem.config.stash[CELLS][client]
    reason = client.limit(cell)
    try:
        result = yield
    except Unsupported:
        if reason is None:
            raise
        cells[cell] = reason
        return True
    if reason is not None:
        pytest.fail(f"{client.name} can do '{cell}' after all: take it off its limits")
    cells[cell] = WORKS
    return result


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Keeps the results of a run without failures, if asked to."""
    if session.config.getoption("--record") and exitstatus == pytest.ExitCode.OK:
        for client, cells in session.config.stash[CELLS].items():
            kept = Results.read(client.name, client.version).cells
            Results(client.name, client.version, {**kept, **cells}).write()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """The broker of the whole matrix."""
    options = [word for setting in SETTINGS for word in ("--set", setting)]
    folder = tmp_path_factory.mktemp("interop")
    with BrokerProcess(folder / "data", *options) as broker:
        yield broker


@pytest.fixture(scope="session")
def creating_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker that creates the topics it is asked for, as it does by default."""
    with BrokerProcess(tmp_path_factory.mktemp("creating") / "data") as broker:
        yield broker


@pytest.fixture(scope="session")
def observer(broker: BrokerProcess) -> Iterator[streamlog.Client]:
    """Prepares topics, and looks at what a client has done."""
    with streamlog.connect(broker.address) as client:
        yield client


@pytest.fixture
def topic(observer: streamlog.Client) -> str:
    """A topic of the test's own, with one partition."""
    name = f"interop-{next(_numbers)}"
    observer.admin.create_topic(name, partitions=1)
    return name


@pytest.fixture
def absent_topic() -> str:
    """The name of a topic that nobody has created."""
    return f"absent-{next(_numbers)}"


@pytest.fixture(scope="session")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory for the output of drivers."""
    return tmp_path_factory.mktemp("drivers")


@pytest.fixture
def launch(broker: BrokerProcess, logs: Path) -> Iterator[Launch]:
    """Starts drivers of the test's own, so that it may kill them."""
    started: list[Driver] = []

    def start(client: Client) -> Driver:
        log = logs / f"{client.name}-{next(_numbers)}.log"
        started.append(Driver(client.driver_command(), broker.address, log))
        return started[-1]

    yield start
    for driver in started:
        driver.stop()


@pytest.fixture(scope="session")
def drivers(broker: BrokerProcess, logs: Path) -> Iterator[Launch]:
    """The drivers that tests share, started at their first use; a broken one is replaced."""
    running: dict[str, Driver] = {}

    def driver_of(client: Client) -> Driver:
        if client.name not in running or not running[client.name].is_running():
            log = logs / f"{client.name}.log"
            running[client.name] = Driver(client.driver_command(), broker.address, log)
        return running[client.name]

    yield driver_of
    for driver in running.values():
        driver.stop()


@pytest.fixture
def driver(client: Client, drivers: Launch) -> Driver:
    """The driver of the client under test."""
    return drivers(client)
