"""A response that takes longer than a request timeout is read as long as its bytes arrive."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import streamlog
from py.support.broker import BrokerProcess
from py.support.proxy import SlowProxy

BYTES_PER_SECOND = 200_000
VALUES = [random.Random(number).randbytes(100_000) for number in range(8)]
"""The values of one response, which takes four seconds."""


@pytest.fixture
def address(tmp_path: Path, topic: str) -> Iterator[str]:
    """A broker behind a slow link, with the values."""
    with SlowProxy(BYTES_PER_SECOND) as proxy:
        options = ("--advertise", proxy.address)
        with BrokerProcess(tmp_path / "slow", *options) as broker:
            proxy.target = broker.address
            with streamlog.connect(proxy.address) as client, client.producer() as producer:
                client.admin.create_topic(topic)
                producer.send_all(topic, VALUES)
            yield proxy.address


def test_all_is_read_however_slowly_it_comes(address: str, topic: str) -> None:
    impatient = {"request.timeout.ms": 1000}
    with (
        streamlog.connect(address, config=impatient) as client,
        client.consumer(topic) as consumer,
    ):
        values = [message.value for message in consumer.take(len(VALUES), timeout=30)]
        assert values == VALUES
