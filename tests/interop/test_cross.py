"""Records of one client are read by every other: with each codec, byte for byte."""

import pytest

import streamlog
from interop.conftest import CLIENTS, Launch
from interop.support.clients import Client
from interop.support.features import CODECS, reading
from interop.support.records import Record

RECORDS = [Record(b"key-%d" % (i % 7), b"value %d " % i * (1 + i % 40)) for i in range(120)]
RECORDS += [Record(b"k", b"v", (("name", b"text"), ("other", bytes(range(1, 256)))))]
RECORDS += [Record(b"k", bytes(range(256)) * 400), Record(b"k", b"last")]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every pair of chosen clients, with each codec that the writer can produce."""
    clients = metafunc.config.stash[CLIENTS]
    metafunc.parametrize(
        ("writer", "codec", "client"),
        [
            pytest.param(
                writer,
                codec,
                reader,
                marks=pytest.mark.feature(reading(writer.name, codec)),
                id=f"{writer.name}-{codec}-{reader.name}",
            )
            for writer in clients
            for codec in CODECS
            if writer.limit(f"produce {codec} acks=all") is None
            for reader in clients
        ],
    )


@pytest.fixture(scope="session")
def written() -> dict[tuple[str, str], str]:
    """The topics that writers have filled, by writer and codec."""
    return {}


def test_what_one_writes_the_other_reads(
    drivers: Launch,
    written: dict[tuple[str, str], str],
    observer: streamlog.Client,
    *,
    writer: Client,
    codec: str,
    client: Client,
) -> None:
    topic = f"written-by-{writer.name}-{codec}"
    if (writer.name, codec) not in written:
        observer.admin.create_topic(topic, partitions=1)
        drivers(writer).produce(topic, RECORDS, codec=codec)
        written[writer.name, codec] = topic
    reader = drivers(client)
    reader.open(topic)
    found = reader.read(len(RECORDS))
    assert [record.content() for record in found] == [record.content() for record in RECORDS]
