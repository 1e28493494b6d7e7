"""A client reads back what it has produced, in order, at the acknowledged offsets."""

import random

import pytest

from interop.support.driver import Driver
from interop.support.features import ACKS, CODECS
from interop.support.records import Record
from interop.support.stored import batches
from py.support.broker import BrokerProcess

BIG = 900 * 1024
TEN_MEGABYTES = 10 * 1024 * 1024
# Long past, so that nobody's clock can have made it up.
SOME_TIME = 1_500_000_000_123

PRODUCING = [
    pytest.param(codec, acks, marks=pytest.mark.feature(f"produce {codec} acks={acks}"))
    for codec in CODECS
    for acks in ACKS
]


def keyed(count: int) -> list[Record]:
    """Records of a few keys, which compress well."""
    return [Record(b"key-%d" % (i % 7), b"value %d " % i * (1 + i % 40)) for i in range(count)]


def read_back(driver: Driver, topic: str, count: int) -> list[Record]:
    """The first so many records of the only partition."""
    driver.open(topic)
    return driver.read(count)


def contents(records: list[Record]) -> list[object]:
    """The contents of records, without offsets and timestamps."""
    return [record.content() for record in records]


def roundtrip(driver: Driver, topic: str, records: list[Record]) -> None:
    """Produces and reads back; both have to agree."""
    driver.produce(topic, records)
    assert contents(read_back(driver, topic, len(records))) == contents(records)


@pytest.mark.parametrize(("codec", "acks"), PRODUCING)
def test_a_codec_and_acks(
    driver: Driver, broker: BrokerProcess, topic: str, codec: str, acks: str
) -> None:
    records = keyed(200)
    offsets = driver.produce(topic, records, codec=codec, acks=acks)
    found = read_back(driver, topic, len(records))
    assert contents(found) == contents(records)
    assert [record.offset for record in found] == list(range(len(records)))
    told = {offset for offset in offsets if offset is not None}
    assert told <= set(range(len(records)))
    assert acks != "0" or not told, "nobody can have told an offset"
    codecs = {batch.codec for batch in batches(broker.data_dir, topic)}
    # A batch that does not get smaller may go as it is.
    assert {codec} <= codecs <= {codec, "none"}


@pytest.mark.feature("idempotent")
def test_the_idempotent_producer(driver: Driver, broker: BrokerProcess, topic: str) -> None:
    for start in (0, 50):
        driver.produce(topic, keyed(100)[start : start + 50], idempotent=True)
    assert contents(read_back(driver, topic, 100)) == contents(keyed(100))
    assert all(batch.producer_id >= 0 for batch in batches(broker.data_dir, topic))


@pytest.mark.feature("null key")
def test_null_and_empty_keys_and_empty_values(driver: Driver, topic: str) -> None:
    roundtrip(
        driver, topic, [Record(None, b"no key"), Record(b"", b"empty key"), Record(b"k", b"")]
    )


@pytest.mark.feature("tombstone")
def test_tombstones(driver: Driver, topic: str) -> None:
    roundtrip(driver, topic, [Record(b"k", b"value"), Record(b"k", None), Record(b"k", b"again")])


@pytest.mark.feature("headers")
def test_headers(driver: Driver, topic: str) -> None:
    several = (("a", b"1"), ("b", bytes(range(256))), ("c", b""))
    roundtrip(driver, topic, [Record(b"k", b"v", several), Record(b"k", b"no headers")])


@pytest.mark.feature("repeated headers")
def test_headers_of_one_name_keep_their_order(driver: Driver, topic: str) -> None:
    repeated = (("a", b"1"), ("b", b"2"), ("a", b"3"))
    roundtrip(driver, topic, [Record(b"k", b"v", repeated)])


@pytest.mark.feature("null headers")
def test_headers_without_a_value(driver: Driver, topic: str) -> None:
    roundtrip(driver, topic, [Record(b"k", b"v", (("null", None), ("a", b"1")))])


@pytest.mark.feature("timestamp")
def test_timestamps_of_the_producer_come_back(driver: Driver, topic: str) -> None:
    records = [Record(b"k", b"%d" % i, timestamp=SOME_TIME + 1000 * i) for i in range(3)]
    driver.produce(topic, records)
    found = read_back(driver, topic, 3)
    assert [r.timestamp for r in found] == [r.timestamp for r in records]


@pytest.mark.feature("mixed sizes")
@pytest.mark.timeout(120)
def test_ten_megabytes_of_mixed_sizes(driver: Driver, topic: str) -> None:
    random_bytes = random.Random(4)
    records: list[Record] = [Record(b"first", b"")]
    while (total := sum(len(record.value or b"") for record in records)) < TEN_MEGABYTES:
        size = min(BIG, TEN_MEGABYTES - total, int(2 ** random_bytes.uniform(0, 20)))
        records.append(Record(b"%d" % len(records), random_bytes.randbytes(size)))
    roundtrip(driver, topic, records)
