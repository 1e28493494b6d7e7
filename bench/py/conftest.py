"""Fixtures of the Python rows."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from py.support.broker import BrokerProcess


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """One broker for all rows, so that they differ in their client only."""
    folder: Path = tmp_path_factory.mktemp("bench")
    with BrokerProcess(folder / "data") as broker:
        yield broker
