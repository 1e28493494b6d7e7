"""The progress of a half-published batch is found even if its target was compacted meanwhile."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import streamlog
from py.support.broker import BrokerProcess, until
from spark.sink.query import Crash, Query, counted, values_of
from streamlog.spark.sink import rows
from streamlog.spark.sink.exactly import publication
from streamlog.spark.sink.exactly.publication import Step


@pytest.fixture
def cleaning(tmp_path: Path) -> Iterator[BrokerProcess]:
    """A broker that searches for logs to compact all the time."""
    with BrokerProcess(tmp_path / "data", "--set", "log.cleaner.backoff.ms=20") as broker:
        yield broker


@pytest.mark.parametrize(("copies", "kept"), [(1, 0), (1, 1), (1, 9), (7, 0), (7, 30)])
def test_a_batch_is_finished_though_most_of_what_was_published_is_compacted_away(
    copies: int, kept: int, cleaning: BrokerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "_BATCH_BYTES", 400)
    monkeypatch.setattr(publication, "_BATCHES_AT_ONCE", 1)
    topic = "latest"
    config = {
        "cleanup.policy": "compact",
        "segment.bytes": "2000",
        "min.cleanable.dirty.ratio": "0.01",
    }
    with streamlog.connect(cleaning.address) as client:
        client.admin.create_topic(topic, partitions=1, config=config)
        values = values_of(0, 200)
        query = Query(cleaning.address, "query", topic)
        with pytest.raises(Crash, match=str(Step.COPIED)):
            query.commit(0, query.staged(values, tasks=1), crash_at=1 + copies)
        published = counted(client, topic).total()
        assert kept < published < 200
        # Later records repeat the keys of all published ones, except the first few. The active
        # segment is never compacted, so further records follow.
        for key in (*values[kept:published], b"others", b"others"):
            with client.producer() as producer:
                producer.send(topic, b"of another" * 100, key=key)
        until(lambda: counted(client, topic)[values[published - 1]] == 0)
        query.run(0, values)
        found = counted(client, topic)
        expected = values[:kept] + values[published:]
        assert [value for value in values if found[value]] == expected
        assert all(found[value] == 1 for value in expected)
        query.close()
