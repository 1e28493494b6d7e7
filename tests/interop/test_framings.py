"""Every client reads what the broker stores, in whatever form a codec's stream was sent."""

import struct

import pytest

import streamlog
from differential.support.batches import batch_around
from differential.support.connection import Connection
from interop.support.driver import Driver
from interop.support.framings import BYTES, CODECS, FRAMINGS, RECORDS, STORED, Framing
from py.support.broker import BrokerProcess

PRODUCE, VERSION = 0, 7
NO_ERROR, INVALID_RECORD = 0, 87


def produce(address: str, topic: str, batch: bytes) -> int:
    """Sends one batch as it is, and returns the error code."""
    name = topic.encode()
    head = struct.pack(">hhih", PRODUCE, VERSION, 1, -1)
    body = struct.pack(">hhii", -1, -1, 10_000, 1) + struct.pack(">h", len(name)) + name
    body += struct.pack(">iii", 1, 0, len(batch)) + batch
    connection = Connection(address)
    connection.send(head + body)
    answer = connection.receive()
    connection.close()
    assert answer is not None
    # After the correlation id, one topic with one partition.
    (code,) = struct.unpack_from(">h", answer, 4 + 4 + 2 + len(name) + 4 + 4)
    return int(code)


@pytest.fixture(scope="session")
def framed(observer: streamlog.Client, broker: BrokerProcess) -> dict[str, int]:
    """Sends each framing to a topic of its own, and returns the error codes by cell."""
    codes = {}
    for number, framing in enumerate(FRAMINGS):
        observer.admin.create_topic(f"framing-{number}", partitions=1)
        codes[framing.cell] = produce(broker.address, f"framing-{number}", batch_of(framing))
    return codes


def batch_of(framing: Framing) -> bytes:
    return batch_around(framing.stream(), len(RECORDS), attributes=framing.number)


@pytest.mark.parametrize("framing", FRAMINGS, ids=lambda framing: framing.cell)
def test_a_framing_is_stored_or_refused(framed: dict[str, int], framing: Framing) -> None:
    assert framed[framing.cell] == (NO_ERROR if framing.is_stored else INVALID_RECORD)


@pytest.mark.parametrize(
    "framing",
    [pytest.param(f, marks=pytest.mark.feature(f.cell), id=f.cell) for f in STORED],
)
@pytest.mark.usefixtures("framed")
def test_a_framing_that_is_stored_is_read(driver: Driver, framing: Framing) -> None:
    driver.open(f"framing-{FRAMINGS.index(framing)}")
    found = driver.read(len(RECORDS))
    assert [record.value for record in found] == [record.value for record in RECORDS]


@pytest.mark.parametrize("codec", CODECS)
def test_a_topic_of_a_codec_stores_and_refuses_the_same_framings_of_it(
    observer: streamlog.Client, broker: BrokerProcess, codec: str
) -> None:
    topic = f"framings-of-{codec}"
    observer.admin.create_topic(topic, partitions=1, config={"compression.type": codec})
    for framing in FRAMINGS:
        if framing.codec == codec:
            expected = NO_ERROR if framing.is_stored else INVALID_RECORD
            assert produce(broker.address, topic, batch_of(framing)) == expected, framing.cell


def test_the_records_are_larger_than_the_blocks_of_every_codec() -> None:
    assert len(BYTES) > 4 * (64 << 10)
