"""A client begins to read where it was told to, and goes where it is sent."""

import pytest

import streamlog
from interop.support.driver import Driver
from interop.support.records import Record

START_MS = 1_500_000_000_000
STEP_MS = 1000


@pytest.fixture
def filled(observer: streamlog.Client, topic: str) -> str:
    """A topic of 30 records, one a second, in batches of three."""
    with observer.producer() as producer:
        for number in range(30):
            time_ms = START_MS + number * STEP_MS
            producer.send(topic, b"%d" % number, key=b"k", timestamp=time_ms)
            if number % 3 == 2:
                producer.flush()
    return topic


def numbers(records: list[Record]) -> list[int]:
    """The values, which are numbers equal to the offsets."""
    values = [int(record.value or b"") for record in records]
    assert [record.offset for record in records] == values
    return values


@pytest.mark.feature("from start")
def test_consuming_from_the_start(driver: Driver, filled: str) -> None:
    driver.open(filled, "start")
    assert numbers(driver.read(30)) == list(range(30))


@pytest.mark.feature("from end")
def test_consuming_from_the_end(driver: Driver, observer: streamlog.Client, filled: str) -> None:
    driver.open(filled, "end")
    with observer.producer() as producer:
        producer.send_all(filled, [b"30", b"31"])
    assert numbers(driver.read(2)) == [30, 31]


@pytest.mark.feature("from offset")
def test_consuming_from_an_offset_within_a_batch(driver: Driver, filled: str) -> None:
    driver.open(filled, {"offset": 16})
    assert numbers(driver.read(14)) == list(range(16, 30))


@pytest.mark.feature("from time")
def test_consuming_from_a_time_between_two_records(driver: Driver, filled: str) -> None:
    driver.open(filled, {"time": START_MS + 10 * STEP_MS + 1})
    assert numbers(driver.read(19)) == list(range(11, 30))


@pytest.mark.feature("seek")
def test_seeking_back_and_forth(driver: Driver, filled: str) -> None:
    driver.open(filled, "start")
    assert numbers(driver.read(5)) == list(range(5))
    driver.seek(20)
    assert numbers(driver.read(5)) == list(range(20, 25))
    driver.seek(1)
    assert numbers(driver.read(3)) == [1, 2, 3]
