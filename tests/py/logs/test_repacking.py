"""All clients read the same records, whatever codecs they were sent and stored with."""

from collections.abc import Callable

import pytest

import streamlog
from py.support.broker import BrokerProcess
from py.test_client import consume_streamlog, produce_streamlog
from py.test_clients import CODECS, CONSUMERS, PRODUCERS, ROWS, Consume, Produce

READERS: dict[str, Consume] = {**CONSUMERS, "streamlog": consume_streamlog}
WRITERS: list[Produce] = [*PRODUCERS.values(), produce_streamlog]

TYPES = ["uncompressed", "gzip", "snappy", "lz4", "zstd", "producer"]


@pytest.fixture
def make(shared_broker: BrokerProcess) -> Callable[[str, str], None]:
    """Creates a topic with a `compression.type`."""

    def make(topic: str, compression: str) -> None:
        with streamlog.connect(shared_broker.address) as client:
            client.admin.create_topic(topic, config={"compression.type": compression})

    return make


@pytest.mark.parametrize("stored", TYPES)
def test_every_codec_stored_as_every_type_is_read_by_all(
    shared_broker: BrokerProcess, topic: str, make: Callable[[str, str], None], stored: str
) -> None:
    for number, codec in enumerate(CODECS):
        name = f"{topic}-{codec}"
        make(name, stored)
        WRITERS[number % len(WRITERS)](shared_broker.address, name, ROWS, codec)
        for reader, consume in READERS.items():
            assert consume(shared_broker.address, name, len(ROWS)) == ROWS, (codec, reader)


@pytest.mark.parametrize("write", WRITERS, ids=["confluent", "kafka-python", "streamlog"])
def test_every_client_writes_to_a_topic_that_is_stored_otherwise(
    shared_broker: BrokerProcess, topic: str, make: Callable[[str, str], None], write: Produce
) -> None:
    make(topic, "zstd")
    write(shared_broker.address, topic, ROWS, "gzip")
    for reader, consume in READERS.items():
        assert consume(shared_broker.address, topic, len(ROWS)) == ROWS, reader
