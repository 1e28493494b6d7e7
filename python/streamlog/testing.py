"""The pytest plugin: a broker, a client, a topic and a cluster as fixtures, nothing to import.

A test requests them by name: ``streamlog_client``, ``streamlog_topic``, ``streamlog_broker``,
``streamlog_cluster``.

All tests share one broker in their process and are separated by their topics. Mark a test that
needs a broker of its own, or other settings: ``@pytest.mark.streamlog(num_partitions=3)``.
"""

import re
from collections.abc import Iterator
from itertools import count

import pytest

from streamlog import Broker, Client

_MARKER = "streamlog(data_dir=None, **settings): gives the test a broker of its own"
_NAME_MAX = 200

_numbers = count(1)


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker."""
    config.addinivalue_line("markers", _MARKER)


@pytest.fixture(scope="session")
def streamlog_session_broker() -> Iterator[Broker]:
    """The broker that tests share."""
    with Broker() as broker:
        yield broker


@pytest.fixture
def streamlog_broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """The shared broker, or a broker with the settings of the test's marker."""
    marker = request.node.get_closest_marker("streamlog")
    if marker is None:
        yield request.getfixturevalue("streamlog_session_broker")
        return
    with Broker(*marker.args, **marker.kwargs) as broker:
        yield broker


@pytest.fixture
def streamlog_cluster(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """A cluster of three nodes for this test alone, with the settings of the test's marker."""
    marker = request.node.get_closest_marker("streamlog")
    settings = {} if marker is None else marker.kwargs
    with Broker(**{"nodes": 3, **settings}) as cluster:
        yield cluster


@pytest.fixture
def streamlog_client(streamlog_broker: Broker) -> Iterator[Client]:
    """A client of the test's broker; it is closed when the test ends."""
    with streamlog_broker.connect() as client:
        yield client


@pytest.fixture
def streamlog_topic(request: pytest.FixtureRequest) -> str:
    """The name of a topic that no other test uses; the first record sent to it creates it."""
    name = re.sub(r"[^a-zA-Z0-9._-]+", "-", request.node.name).strip("-.")
    return f"{name[:_NAME_MAX]}-{next(_numbers)}"
