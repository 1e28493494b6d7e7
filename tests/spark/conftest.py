"""Fixtures of the tests on Spark: one session and one broker for all of them."""

import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import streamlog
from py.support.broker import BrokerProcess
from spark.support.class_data import OPTIONS
from spark.support.connect import ConnectServer
from streamlog.spark import provide_java

PATIENCE = 300
"""The timeout of a test here in seconds, unless it sets another. Most tests take less than ten on
an idle machine, but they wait for processes to start, which takes several times as long on a busy
one."""
_HERE = Path(__file__).parent
_numbers = count()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sets the timeout of the tests here, and marks those on the shared session."""
    for item in items:
        if not item.path.is_relative_to(_HERE):
            continue
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(PATIENCE))
        if isinstance(item, pytest.Function) and "spark" in item.fixturenames:
            item.add_marker(pytest.mark.shared)


@pytest.fixture(scope="session", autouse=True)
def submitted() -> Iterator[None]:
    """Returns the settings for each Spark, also for one in a program started by a test."""
    settings = {
        "spark.driver.extraJavaOptions": OPTIONS,
        "spark.executor.extraJavaOptions": OPTIONS,
        # The default of 15 seconds is too short for a Python process that starts on a busy machine.
        "spark.python.authenticate.socketTimeout": "120s",
    }
    words = [f'--conf "{name}={value}"' for name, value in settings.items()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_SUBMIT_ARGS", " ".join([*words, "pyspark-shell"]))
        yield


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session with two cores, on the loopback interface."""
    here = Path.cwd()
    folder = tmp_path_factory.mktemp("session")
    with pytest.MonkeyPatch.context() as patch:
        # By default, its workers would run the first `python3` on the path.
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        # Tables written by name alone end up below this folder.
        patch.chdir(folder)
        provide_java()
        session = _session(folder)
        patch.chdir(here)
        yield session
        session.stop()


def _session(folder: Path) -> SparkSession:
    return (
        SparkSession.Builder()
        .master("local[2]")
        .appName("streamlog-tests")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config("spark.sql.python.filterPushdown.enabled", "true")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )


@pytest.fixture(scope="session")
def connect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    """A Spark Connect server; its clients are separate processes without a classic session."""
    with ConnectServer(tmp_path_factory.mktemp("connect")) as server:
        yield server


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """The broker shared by tests without special requirements."""
    with BrokerProcess(tmp_path_factory.mktemp("spark") / "data") as broker:
        yield broker


@pytest.fixture
def shaky(tmp_path: Path) -> Iterator[BrokerProcess]:
    """A separate broker for the test, to be killed."""
    with BrokerProcess(tmp_path / "shaky") as broker:
        yield broker


@pytest.fixture(scope="session")
def client(broker: BrokerProcess) -> Iterator[streamlog.Client]:
    """A client of this broker."""
    with streamlog.connect(broker.address) as client:
        yield client


@pytest.fixture
def topic() -> str:
    """A topic name that no other test uses."""
    return f"spark-{next(_numbers)}"
