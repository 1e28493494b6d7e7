"""Helpers of the tests on event loops."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import pytest

from py.support.broker import BrokerProcess
from streamlog import aio

Main: TypeAlias = Callable[[aio.Client], Coroutine[Any, Any, None]]
Run: TypeAlias = Callable[[Main], None]


@pytest.fixture
def run(shared_broker: BrokerProcess) -> Run:
    """Runs a coroutine with a client of the shared broker, on a loop in debug mode."""

    def running(main: Main) -> None:
        async def connected() -> None:
            async with aio.connect(shared_broker.address) as client:
                await main(client)

        asyncio.run(connected(), debug=True)

    return running


async def fill(client: aio.Client, topic: str, count: int, partitions: int = 1) -> list[bytes]:
    """Publishes `count` values, each its number, evenly to the partitions."""
    await client.admin.create_topic(topic, partitions=partitions, exist_ok=True)
    values = [b"%d" % number for number in range(count)]
    async with client.producer() as producer:
        for number, value in enumerate(values):
            producer.send(topic, value, partition=number % partitions)
    return values


async def eventually(condition: Callable[[], object], seconds: float = 30.0) -> None:
    """Waits until the condition is true; fails after a timeout."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.005)
