"""A client writes to three brokers while the leader of its partition is killed."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from interop.support.clients import Client
from interop.support.cluster import Cluster
from interop.support.driver import Driver
from interop.support.records import Record

AT_ONCE = 50
PATIENCE_SECONDS = 60.0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The three brokers of all clients."""
    with Cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


class Writer:
    """Numbers that a driver writes until it is told to stop; a refusal ends it."""

    def __init__(self, driver: Driver, topic: str, *, idempotent: bool) -> None:
        """Nothing is written yet."""
        self.driver = driver
        self.topic = topic
        self.idempotent = idempotent
        self.is_over = threading.Event()
        self.offsets: list[int | None] = []

    def run(self) -> None:
        """Writes."""
        while not self.is_over.is_set():
            numbers = range(len(self.offsets), len(self.offsets) + AT_ONCE)
            records = [Record(b"key", b"%d" % number) for number in numbers]
            self.offsets += self.driver.produce(self.topic, records, idempotent=self.idempotent)

    def await_more(self, count: int) -> None:
        """Waits until so many more are acknowledged."""
        before, deadline = len(self.offsets), time.monotonic() + PATIENCE_SECONDS
        while len(self.offsets) < before + count and not self.is_over.is_set():
            assert time.monotonic() < deadline, f"nothing is acknowledged{self.driver.log()}"
            time.sleep(0.01)


def write_through_a_kill(writer: Writer, cluster: Cluster, topic: str) -> None:
    """Kills the leader while the writer writes, and starts it again."""
    with ThreadPoolExecutor(1) as threads:
        writing = threads.submit(writer.run)
        writing.add_done_callback(lambda _: writer.is_over.set())
        try:
            writer.await_more(2 * AT_ONCE)
            leader = cluster.leader(topic)
            assert leader is not None
            cluster.kill(leader)
            cluster.await_other_leader(topic, leader)
            writer.await_more(2 * AT_ONCE)
            cluster.restart(leader, topic)
            writer.await_more(2 * AT_ONCE)
        finally:
            writer.is_over.set()
        writing.result()


def read_all(driver: Driver, topic: str, end: int) -> list[Record]:
    """All records of the only partition, which ends there."""
    driver.open(topic)
    return driver.read(end)


@pytest.mark.feature("failover")
@pytest.mark.timeout(180)
def test_what_is_acknowledged_is_read_back_in_order_after_a_leader_was_killed(
    client: Client, cluster: Cluster, tmp_path: Path
) -> None:
    topic = cluster.topic()
    driver = Driver(client.driver_command(), cluster.address, tmp_path / "driver.log")
    try:
        is_idempotent = client.limit("idempotent") is None
        writer = Writer(driver, topic, idempotent=is_idempotent)
        write_through_a_kill(writer, cluster, topic)
        end = cluster.observer.admin.end_offsets(topic)[0]
        assert end is not None
        read = read_all(driver, topic, end)
    finally:
        driver.kill()
    numbers = [int(record.value or b"") for record in read]
    if not is_idempotent:
        # It sends again what was stored and not acknowledged.
        numbers = list(dict.fromkeys(numbers))
    assert numbers == list(range(len(writer.offsets)))
    if is_idempotent:
        told = [(n, offset) for n, offset in enumerate(writer.offsets) if offset is not None]
        assert all(number == offset for number, offset in told)
