"""Clients that administer topics."""

from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

import streamlog
from interop.support.clients import Client
from interop.support.driver import Driver
from interop.support.records import Record
from py.support.broker import BrokerProcess


@pytest.mark.feature("create")
def test_a_topic_is_created_with_partitions_and_settings(
    driver: Driver, observer: streamlog.Client, broker: BrokerProcess, absent_topic: str
) -> None:
    driver.create(absent_topic, 3, {"retention.ms": "86400000", "cleanup.policy": "compact"})
    assert observer.topic(absent_topic).partitions() == 3
    resource = ConfigResource(ResourceType.TOPIC, absent_topic)
    admin = AdminClient({"bootstrap.servers": broker.address})
    settings = admin.describe_configs([resource])[resource].result(10)
    assert settings["retention.ms"].value == "86400000"
    assert settings["cleanup.policy"].value == "compact"


@pytest.mark.feature("auto create")
def test_a_topic_is_created_for_its_first_record(
    client: Client, creating_broker: BrokerProcess, tmp_path: Path
) -> None:
    driver = Driver(client.driver_command(), creating_broker.address, tmp_path / "driver.log")
    try:
        driver.produce(f"created-by-{client.name}", [Record(b"k", b"v")])
        driver.open(f"created-by-{client.name}")
        assert [record.value for record in driver.read(1)] == [b"v"]
    finally:
        driver.stop()


@pytest.mark.feature("delete")
def test_a_topic_is_deleted(driver: Driver, observer: streamlog.Client, topic: str) -> None:
    assert topic in observer.admin.topics()
    driver.delete(topic)
    assert topic not in observer.admin.topics()
