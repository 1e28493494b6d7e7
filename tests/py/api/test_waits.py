"""Timeouts: invalid values are named in the error, and very large values mean infinity."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

import streamlog
from streamlog import aio

Call = Callable[[Any, str, Any], object]

COUNT = 10
BEYOND = 10**400


def sent(producer: streamlog.Producer, topic: str) -> streamlog.Ticket:
    """A pending record."""
    return producer.send(topic, b"x")


CALLS: dict[str, tuple[str, Call]] = {
    "result": ("timeout", lambda client, topic, wait: sent(client.producer(), topic).result(wait)),
    "exception": (
        "timeout",
        lambda client, topic, wait: sent(client.producer(), topic).exception(wait),
    ),
    "flush": ("timeout", lambda client, topic, wait: client.producer().flush(wait)),
    "close": ("timeout", lambda client, topic, wait: client.producer().close(wait)),
    "take": (
        "timeout",
        lambda client, topic, wait: list(client.consumer(topic).take(COUNT, timeout=wait)),
    ),
    "batches": (
        "max_wait",
        lambda client, topic, wait: next(
            client.consumer(topic).batches(max_messages=COUNT, max_wait=wait)
        ),
    ),
    "decoded": (
        "max_wait",
        lambda client, topic, wait: next(
            client.consumer(topic, value=bytes.decode).batches(max_messages=COUNT, max_wait=wait)
        ),
    ),
    "arrow": (
        "max_wait",
        lambda client, topic, wait: next(
            client.consumer(topic).arrow(max_rows=COUNT, max_wait=wait)
        ),
    ),
}


@pytest.mark.parametrize("form", CALLS)
def test_an_invalid_timeout_is_named_with_the_expected_form(
    streamlog_client: streamlog.Client, streamlog_topic: str, form: str
) -> None:
    name, call = CALLS[form]
    streamlog_client.admin.create_topic(streamlog_topic)
    # For a loop, a timeout in the past is valid.
    never = [-1, -BEYOND] if form != "take" else []
    for wait in ("soon", b"1", float("nan"), *never):
        with pytest.raises(streamlog.ConfigError) as caught:
            call(streamlog_client, streamlog_topic, wait)
        assert (
            str(caught.value) == f"{name}: invalid value '{wait}': expected seconds, not negative"
        )


@pytest.mark.parametrize("wait", [BEYOND, 1e19, float("inf")], ids=["whole", "large", "infinite"])
@pytest.mark.parametrize("form", CALLS)
def test_a_very_long_timeout_is_infinite(
    streamlog_client: streamlog.Client, streamlog_topic: str, form: str, wait: float
) -> None:
    _, call = CALLS[form]

    def publish(count: int) -> None:
        with streamlog_client.producer() as producer:
            for _ in range(count):
                producer.send(streamlog_topic, b"x", partition=0)

    publish(1)
    publishing = threading.Timer(0.2, publish, [COUNT - 1])
    publishing.start()
    found = call(streamlog_client, streamlog_topic, wait)
    publishing.join()
    if form in ("take", "batches", "decoded", "arrow"):
        assert len(found) == COUNT  # type: ignore[arg-type]


def test_the_same_holds_on_a_loop(streamlog_broker: streamlog.Broker, streamlog_topic: str) -> None:
    async def main() -> None:
        async with (
            aio.connect(streamlog_broker.address) as client,
            client.producer() as producer,
            client.consumer(streamlog_topic, create_topics=True) as consumer,
        ):
            for wait in (BEYOND, 1e19, float("inf")):
                ticket = producer.send(streamlog_topic, b"x")
                await producer.flush(wait)
                await ticket.result(wait)
                assert await ticket.exception(wait) is None
                assert len([m async for m in consumer.take(1, timeout=wait)]) == 1
                producer.send(streamlog_topic, b"x")
                assert len(await anext(consumer.batches(max_messages=1, max_wait=wait))) == 1
            refused: Any
            for refused in ("soon", float("nan"), -BEYOND):
                expected = "invalid value .*: expected seconds"
                with pytest.raises(streamlog.ConfigError, match=f"^timeout: .*{expected}"):
                    await producer.flush(refused)
                with pytest.raises(streamlog.ConfigError, match=f"^timeout: .*{expected}"):
                    await ticket.result(refused)
                with pytest.raises(streamlog.ConfigError, match=f"^timeout: .*{expected}"):
                    consumer.take(1, timeout=refused)
                with pytest.raises(streamlog.ConfigError, match=f"^max_wait: .*{expected}"):
                    consumer.batches(max_wait=refused)

    asyncio.run(main())
