"""Fixtures of the Python tests."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

import streamlog
from py.support.broker import BrokerProcess

_numbers = count()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    """A separate broker for the test."""
    with BrokerProcess(tmp_path / "data") as broker:
        yield broker


@pytest.fixture(scope="session")
def shared_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker for all tests that neither stop nor configure it."""
    with BrokerProcess(tmp_path_factory.mktemp("shared") / "data") as broker:
        yield broker


@pytest.fixture
def client(shared_broker: BrokerProcess) -> Iterator[streamlog.Client]:
    """A client of the shared broker."""
    with streamlog.connect(shared_broker.address) as client:
        yield client


@pytest.fixture
def topic() -> str:
    """A topic name that no other test uses."""
    return f"topic-{next(_numbers)}"
