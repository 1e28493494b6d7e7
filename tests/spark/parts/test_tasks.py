"""A task reads its range of the requested topic to the end, or reports what is missing."""

import gc
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

import streamlog
from py.support.broker import BrokerProcess
from spark.parts.played import values
from spark.support.clock import Clock
from streamlog import RequestTimeout, TopicNotFound
from streamlog._core.bounded import Range, open_range
from streamlog.spark import patience
from streamlog.spark.garbage import spare_modules
from streamlog.spark.reading import records
from streamlog.spark.reading.ranges import OffsetRange
from streamlog.spark.reading.records import RangeReader
from streamlog.spark.reading.settings import Reading, default_schema
from streamlog.spark.source import StreamlogDataSource


@dataclass
class Ranges:
    """Creates ranges with fixed ends, whatever the arguments."""

    most: int
    before: Callable[[int], None] = lambda number: None
    """Callbacks to run before the first range, the second, ..."""
    asked: list[int] = field(default_factory=list)

    def __call__(
        self, client: streamlog.Client, topic: str, parts: list[tuple[int, int, int]], lost: str
    ) -> Range:
        """Creates a range."""
        self.before(len(self.asked))
        partition, start, stop = parts[0]
        self.asked.append(start)
        return open_range(client, topic, [(partition, start, min(stop, start + self.most))], lost)


@dataclass(frozen=True)
class Written:
    """A topic with ten records."""

    client: streamlog.Client
    address: str
    topic: str

    def publish(self, name: str, count: int) -> list[bytes]:
        """Publishes records with this name in their values, creating the topic if necessary."""
        self.client.admin.create_topic(self.topic, partitions=1)
        sent = [b"%s %d" % (name.encode(), number) for number in range(count)]
        with self.client.producer() as producer:
            producer.send_all(self.topic, sent)
        return sent

    def make_anew(self) -> None:
        """Recreates the topic with more records."""
        self.client.admin.delete_topic(self.topic)
        self.publish("new", 60)

    def task(self, stop: int, **options: str) -> RangeReader:
        """Reads from the first record to before `stop`."""
        given = {"bootstrap": self.address, "subscribe": self.topic, **options}
        reading = Reading.of_batch(given, default_schema(given))
        topic_id = self.client.admin.topic(self.topic).id
        return RangeReader.of(reading, OffsetRange(self.topic, 0, 0, stop, topic_id))


@pytest.fixture
def written(broker: BrokerProcess, client: streamlog.Client, topic: str) -> Written:
    """A topic with the records "old 0" to "old 9"."""
    written = Written(client, broker.address, topic)
    written.publish("old", 10)
    return written


def old(count: int) -> list[bytes]:
    """Returns the first records of the old topic."""
    return [b"old %d" % number for number in range(count)]


def test_garbage_collection_after_a_task_excludes_imported_modules(
    written: Written,
) -> None:
    gc.unfreeze()
    spare_modules.cache_clear()
    for _ in range(2):
        assert values(written.task(10).batches()) == old(10)
        assert gc.get_freeze_count() > 10_000
    gc.unfreeze()


def test_garbage_collection_after_planning_excludes_imported_modules() -> None:
    gc.unfreeze()
    spare_modules.cache_clear()
    StreamlogDataSource({})
    assert gc.get_freeze_count() > 10_000
    gc.unfreeze()


def test_a_read_that_ends_early_is_resumed(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranges = Ranges(most=4)
    monkeypatch.setattr(records, "open_range", ranges)
    assert values(written.task(10).batches()) == old(10)
    assert ranges.asked == [0, 4, 8]


def test_a_read_without_progress_is_an_error_with_its_position(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "open_range", Ranges(most=0))
    with pytest.raises(
        RequestTimeout, match=r"ended by itself at offset 0, and is to end at 10"
    ) as told:
        values(written.task(10, brokerTimeout="1s").batches())
    assert "could not be read for 1 s" in told.value.__notes__[0]


def test_a_broker_may_be_unreachable_after_rows_were_consumed_slowly(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    outage, clock = iter([RequestTimeout("the broker is away")]), Clock()

    def fail(number: int) -> None:
        if number == 1:
            for error in outage:
                raise error

    monkeypatch.setattr(records, "open_range", Ranges(most=4, before=fail))
    monkeypatch.setattr(patience, "time", clock)
    batches = written.task(10).batches()
    first = next(batches)
    clock.pass_on(130)
    assert values(iter((first, *batches))) == old(10)


def test_a_topic_recreated_between_two_readings_is_reported(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    def renew(number: int) -> None:
        if number == 1:
            written.make_anew()

    monkeypatch.setattr(records, "open_range", Ranges(most=4, before=renew))
    with pytest.raises(TopicNotFound, match="recreated"):
        values(written.task(10).batches())


def test_a_range_that_was_truncated_still_knows_its_topic(
    written: Written, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def renew(number: int) -> None:
        if number == 1:
            written.make_anew()

    monkeypatch.setattr(records, "open_range", Ranges(most=4, before=renew))
    # The log is truncated to 10 during the first request, and the topic recreated later.
    task = written.task(20, failOnDataLoss="false")
    values(task.batches())
    told = [record.getMessage() for record in caplog.records]
    assert any("offset 10 was requested, the log begins at 0 and ends at 10" in it for it in told)
    assert "the topic was deleted or recreated" in told[-1]


def test_a_topic_recreated_while_it_is_read_is_reported(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "open_range", Ranges(100, before=lambda _: written.make_anew()))
    with pytest.raises(TopicNotFound, match="recreated"):
        values(written.task(10).batches())


def test_a_topic_deleted_when_all_of_it_was_read_is_no_loss(written: Written) -> None:
    batches = written.task(10).batches()
    found = values([next(batches)])
    written.client.admin.delete_topic(written.topic)
    assert found + values(batches) == old(10)
