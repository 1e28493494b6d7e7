"""Fixtures of the fault tests: a ZooKeeper, and brokers whose metadata is there on request."""

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.zookeeper import answers, command_line, write_config
from py.support.broker import BrokerProcess, until

SESSION_MAX_SECONDS = 60
"""The longest session that the server grants."""

PATIENCE = 60.0
"""A timeout in seconds; a slow machine is not an error."""


@pytest.fixture
def zookeeper(tmp_path: Path) -> Iterator[str]:
    """The address of a tree in a server of its own."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    config = tmp_path / "zookeeper.cfg"
    write_config(config, tmp_path / "zookeeper", port)
    with config.open("a") as lines:
        lines.write(f"maxSessionTimeout={1_000 * SESSION_MAX_SECONDS}\n")
    with (tmp_path / "zookeeper.log").open("wb") as log:
        server = subprocess.Popen(command_line(config), stdout=log, stderr=log)
        try:
            until(lambda: answers(port), PATIENCE)
            yield f"127.0.0.1:{port}/streamlog"
        finally:
            server.kill()
            server.wait()


@pytest.fixture
def store(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The options by which a lone broker finds its metadata.

    There are none for the embedded store. With `STREAMLOG_ON_ZOOKEEPER`, they name a ZooKeeper.
    """
    if "STREAMLOG_ON_ZOOKEEPER" not in os.environ:
        return ()
    return ("--zookeeper", request.getfixturevalue("zookeeper"), "--broker-id", "1")


@pytest.fixture
def broker(tmp_path: Path, store: tuple[str, ...]) -> Iterator[BrokerProcess]:
    """A separate broker for the test."""
    with BrokerProcess(tmp_path / "data", *store) as broker:
        yield broker
