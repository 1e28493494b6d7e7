"""Start positions by time, found with as few requests as possible."""

from dataclasses import dataclass, field

import pytest

from streamlog import ConfigError
from streamlog.spark.reading.logs import Logs
from streamlog.spark.reading.offsets import Offsets, TopicPartition
from streamlog.spark.reading.positions import AtTimes, resolve

ENDS: Offsets = {("orders", 0): 10, ("orders", 1): 20, ("prices", 0): 30}


@dataclass
class Dated(Logs):
    """Simulated logs with the record of second n at offset n, up to the ends."""

    asked: list[tuple[str, int]] = field(default_factory=list)

    def at(self, topic: str, time_ms: int) -> dict[TopicPartition, int | None]:
        """Looks up a time, and notes the request."""
        self.asked.append((topic, time_ms))
        offset = time_ms // 1000
        of_topic = {place: end for place, end in ENDS.items() if place[0] == topic}
        return {place: offset if offset < end else None for place, end in of_topic.items()}


@pytest.fixture
def dated() -> Dated:
    """Logs without a broker."""
    return Dated()


def test_one_time_for_all_is_asked_once_for_each_topic(dated: Dated) -> None:
    found = resolve(AtTimes("startingTimestamp", 5000), dated, ENDS)
    assert found == {("orders", 0): 5, ("orders", 1): 5, ("prices", 0): 5}
    assert sorted(dated.asked) == [("orders", 5000), ("prices", 5000)]


def test_times_of_partitions_are_asked_once_for_each_topic_and_time(dated: Dated) -> None:
    times = ((("orders", 0), 4000), (("orders", 1), 15000), (("prices", 0), 4000))
    found = resolve(AtTimes("startingOffsetsByTimestamp", None, times), dated, ENDS)
    assert found == {("orders", 0): 4, ("orders", 1): 15, ("prices", 0): 4}
    assert sorted(dated.asked) == [("orders", 4000), ("orders", 15000), ("prices", 4000)]


def test_a_time_after_all_records_is_the_end_or_an_error(dated: Dated) -> None:
    latest = AtTimes("startingTimestamp", 15_000)
    assert resolve(latest, dated, ENDS)["orders", 0] == 10
    error = AtTimes("startingTimestamp", 15_000, (), "error")
    with pytest.raises(ConfigError, match=r"no record of topic 'orders', partition 0, is of"):
        resolve(error, dated, ENDS)
