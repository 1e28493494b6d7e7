"""Administration on an event loop: each method returns the result of the blocking one."""

import inspect
from collections.abc import Callable
from datetime import timedelta

import pytest

import streamlog
from py.aio.conftest import Run, fill
from streamlog import aio


def test_topics_are_created_described_and_deleted(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        admin = client.admin
        await admin.create_topic(topic, partitions=2, retention=timedelta(days=1))
        await admin.create_topic(topic, exist_ok=True)
        with pytest.raises(streamlog.TopicExists):
            await admin.create_topic(topic)
        assert topic in await admin.topics()
        assert len((await admin.topic(topic)).partitions) == 2
        assert len((await client.topic(topic).describe()).partitions) == 2
        await admin.set_partitions(topic, 3)
        assert await admin.end_offsets(topic) == {0: 0, 1: 0, 2: 0}
        assert (await admin.settings(topic=topic))["retention.ms"].value == "86400000"
        await admin.set_settings({"retention.ms": None}, topic=topic)
        assert (await admin.settings(topic=topic))["retention.ms"].source == "default"
        await admin.delete_topic(topic)
        await admin.delete_topic(topic, missing_ok=True)
        with pytest.raises(streamlog.TopicNotFound):
            await admin.delete_topic(topic)

    run(main)


def test_offsets_and_the_cluster_are_reported(run: Run, topic: str) -> None:
    async def main(client: aio.Client) -> None:
        await fill(client, topic, 5)
        admin = client.admin
        assert await admin.offsets_at(topic, timedelta(hours=-1)) == {0: 0}
        assert await admin.delete_records(topic, 0, before=2) == 2
        assert await admin.begin_offsets(topic) == {0: 2}
        assert len((await admin.cluster()).brokers) == 1
        with pytest.raises(streamlog.TopicNotFound):
            await admin.end_offsets(f"{topic}-missing")

    run(main)


# Arrow batches are for programs that compute rather than wait.
BLOCKING_ONLY = {"arrow"}
NAMES = {
    streamlog.Admin: aio.Admin,
    streamlog.Batch: aio.Batch,
    streamlog.Client: aio.Client,
    streamlog.Group: aio.Group,
    streamlog.Partition: aio.Partition,
    streamlog.Producer: aio.Producer,
    streamlog.Stream: aio.Stream,
    streamlog.Ticket: aio.Ticket,
    streamlog.Topic: aio.Topic,
    streamlog.Consumer: aio.Consumer,
}


@pytest.mark.parametrize("blocking", NAMES, ids=lambda kind: kind.__name__)
def test_both_clients_have_the_same_names(blocking: type) -> None:
    def public(kind: type) -> set[str]:
        return {name for name, _ in inspect.getmembers(kind) if not name.startswith("_")}

    missing = public(blocking) - public(NAMES[blocking]) - BLOCKING_ONLY
    annotated = set(inspect.get_annotations(NAMES[blocking]))
    assert missing - annotated == set()


FORWARDED = [
    (streamlog.Admin.create_topic, aio.Admin.create_topic),
    (streamlog.Admin.settings, aio.Admin.settings),
    (streamlog.Group.reset, aio.Group.reset),
    (streamlog.Consumer.seek, aio.Consumer.seek),
    (streamlog.Consumer.positions, aio.Consumer.positions),
]


@pytest.mark.parametrize("methods", FORWARDED, ids=lambda methods: methods[0].__qualname__)
def test_help_shows_the_docstring_and_the_arguments_of_the_blocking_method(
    methods: tuple[Callable[..., object], Callable[..., object]],
) -> None:
    blocking, awaited = methods
    shown = inspect.getdoc(awaited)
    assert shown
    text = inspect.getdoc(blocking) or ""
    assert text.startswith(shown)
    assert text[len(shown) :].lstrip().startswith("Example:")
    assert inspect.signature(awaited) == inspect.signature(blocking)
    waits = blocking not in (streamlog.Consumer.seek, streamlog.Consumer.positions)
    assert inspect.iscoroutinefunction(awaited) == waits
