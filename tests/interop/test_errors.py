"""Errors reach the client as what they are."""

import pytest

import streamlog
from interop.support.driver import Driver, Refused
from interop.support.records import Record


def kind_of(error: pytest.ExceptionInfo[Refused]) -> str:
    """The driver's name of the error; an unsupported operation is not an error of the broker."""
    if error.value.kind == "unsupported":
        raise error.value
    return error.value.kind


def read_at(driver: Driver, topic: str, offset: int) -> None:
    """Some clients find out when they are sent there, others when they read."""
    driver.open(topic, {"offset": offset})
    driver.read(1, 10)


@pytest.mark.feature("unknown topic")
def test_a_producer_learns_that_there_is_no_such_topic(driver: Driver, absent_topic: str) -> None:
    with pytest.raises(Refused) as error:
        driver.produce(absent_topic, [Record(b"k", b"v")])
    assert kind_of(error) == "unknown_topic", error.value


@pytest.mark.feature("too large")
def test_a_producer_learns_that_a_record_is_too_large(
    driver: Driver, observer: streamlog.Client, absent_topic: str
) -> None:
    settings = {"max.message.bytes": "10000"}
    observer.admin.create_topic(absent_topic, partitions=1, config=settings)
    with pytest.raises(Refused) as error:
        driver.produce(absent_topic, [Record(b"k", b"v" * 20_000)])
    assert kind_of(error) == "too_large", error.value
    driver.produce(absent_topic, [Record(b"k", b"small")])
    driver.open(absent_topic)
    assert [record.value for record in driver.read(1)] == [b"small"]


@pytest.mark.feature("out of range")
def test_a_consumer_learns_that_its_offset_is_out_of_range(
    driver: Driver, observer: streamlog.Client, topic: str
) -> None:
    with observer.producer() as producer:
        producer.send_all(topic, [b"0", b"1", b"2"])
    with pytest.raises(Refused) as error:
        read_at(driver, topic, 1000)
    assert kind_of(error) == "out_of_range", error.value
