"""Members of one client in a group: they share, commit, resume, and take over from the dead."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

import streamlog
from interop.conftest import Launch
from interop.support.clients import Client
from interop.support.driver import Driver, Refused
from interop.support.records import Record

SESSION_MS = 3000
SETTLE_SECONDS = 45.0
PARTITIONS = 6


class Members:
    """The members of one group, polled side by side. What they get is committed at once.

    In turn they would be polled as no service polls: each join ends while another member is polled,
    and kafka-python begins anew where a join has ended between two polls, so that the group would
    never settle.
    """

    def __init__(self, drivers: Sequence[Driver]) -> None:
        """Members that have joined."""
        self.alive = list(drivers)
        self.seen: set[bytes | None] = set()
        self.shares: list[list[int]] = []

    def turn(self) -> None:
        """Polls each of them once."""
        with ThreadPoolExecutor(len(self.alive)) as threads:
            polled = list(threads.map(lambda driver: driver.poll(20, 0.3), self.alive))
        self.shares = [assignment for _, assignment in polled]
        for driver, (records, _) in zip(self.alive, polled, strict=True):
            self.seen |= {record.value for record in records}
            if records:
                self._commit(driver)

    @staticmethod
    def _commit(driver: Driver) -> None:
        try:
            driver.commit()
        except Refused as error:
            # Too late, and whoever has the partitions now reads the records again; or the client
            # commits by itself only.
            if error.kind not in ("rebalancing", "unsupported"):
                raise

    def until_shared(self, each: int) -> None:
        """Polls until each has so many partitions and every partition has one of them."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while not self._is_shared(each):
            assert time.monotonic() < deadline, f"they still have {self.shares}"
            self.turn()

    def _is_shared(self, each: int) -> bool:
        together = sorted(partition for share in self.shares for partition in share)
        is_even = all(len(share) == each for share in self.shares)
        return is_even and together == list(range(PARTITIONS))

    def until_seen(self, values: set[bytes | None]) -> None:
        """Polls until they have seen all of these."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while missing := values - self.seen:
            assert time.monotonic() < deadline, f"never came: {sorted(map(str, missing))[:9]}"
            self.turn()


def publish(observer: streamlog.Client, topic: str, name: bytes) -> set[bytes | None]:
    """Ten records to each partition; returns their values."""
    values: set[bytes | None] = set()
    with observer.producer() as producer:
        for number in range(10 * PARTITIONS):
            value = b"%s %d" % (name, number)
            producer.send(topic, value, partition=number % PARTITIONS)
            values.add(value)
    return values


def take(driver: Driver, count: int) -> list[Record]:
    """Polls until so many records have come."""
    records: list[Record] = []
    deadline = time.monotonic() + SETTLE_SECONDS
    while len(records) < count:
        assert time.monotonic() < deadline, f"{len(records)} of {count} came"
        found, _ = driver.poll(count - len(records), 1.0)
        records += found
    return records


@pytest.mark.feature("commit")
@pytest.mark.timeout(120)
def test_a_member_resumes_where_another_has_committed(
    launch: Launch, client: Client, observer: streamlog.Client, topic: str
) -> None:
    with observer.producer() as producer:
        producer.send_all(topic, [b"%d" % number for number in range(40)])
    first, second = launch(client), launch(client)
    first.join(f"group-of-{topic}", topic, SESSION_MS)
    assert [record.offset for record in take(first, 15)] == list(range(15))
    first.commit()
    assert [record.offset for record in take(first, 5)] == list(range(15, 20))
    first.leave()
    second.join(f"group-of-{topic}", topic, SESSION_MS)
    assert [record.offset for record in take(second, 25)] == list(range(15, 40))
    second.leave()


def wait_for_retention(observer: streamlog.Client, topic: str) -> None:
    """Has retention remove all records that there are."""
    end = observer.admin.end_offsets(topic)[0]
    observer.admin.set_settings({"retention.ms": 1}, topic=topic)
    deadline = time.monotonic() + SETTLE_SECONDS
    while (begin := observer.admin.begin_offsets(topic)[0]) != end:
        assert time.monotonic() < deadline, f"the log still begins at {begin}, not at {end}"
        time.sleep(0.1)
    observer.admin.set_settings({"retention.ms": None}, topic=topic)


@pytest.mark.feature("overtaken")
@pytest.mark.timeout(120)
def test_a_group_recovers_from_an_out_of_range_offset_after_retention(
    launch: Launch, client: Client, observer: streamlog.Client, topic: str
) -> None:
    group = f"group-of-{topic}"
    with observer.producer() as producer:
        producer.send_all(topic, [b"old %d" % number for number in range(20)])
    observer.admin.group(group).commit({(topic, 0): 5})
    wait_for_retention(observer, topic)
    with observer.producer() as producer:
        producer.send_all(topic, [b"new %d" % number for number in range(10)])
    member = launch(client)
    member.join(group, topic, SESSION_MS)
    taken = take(member, 10)
    assert [record.value for record in taken] == [b"new %d" % number for number in range(10)]


@pytest.mark.feature("group")
@pytest.mark.timeout(180)
def test_two_of_three_take_over_from_the_killed_one(
    launch: Launch, client: Client, observer: streamlog.Client, absent_topic: str
) -> None:
    observer.admin.create_topic(absent_topic, partitions=PARTITIONS)
    drivers = [launch(client) for _ in range(3)]
    for driver in drivers:
        driver.join(f"group-of-{absent_topic}", absent_topic, SESSION_MS)
    members = Members(drivers)
    members.until_shared(2)
    members.until_seen(publish(observer, absent_topic, b"three"))
    members.alive.remove(drivers[0])
    drivers[0].kill()
    values = publish(observer, absent_topic, b"two")
    members.until_shared(3)
    members.until_seen(values)
