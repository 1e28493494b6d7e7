"""Work queues on an event loop."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self, TypeAlias, Unpack

from streamlog._core.reading import Message
from streamlog.aio.consumer import Consumer
from streamlog.aio.producer import Producer
from streamlog.arguments.options import QueueOptions
from streamlog.errors import BrokerError, Closed
from streamlog.queues.delivery import Work
from streamlog.queues.generics import K, Typed, V
from streamlog.queues.letters import DeadLetters
from streamlog.queues.paused import EARLY_SECONDS, PausedPartitions
from streamlog.queues.plan import Letter, Plan, seconds_until_due

if TYPE_CHECKING:
    from streamlog.aio.client import Client

__all__ = ["Delivery", "WorkQueue"]

_Opened: TypeAlias = tuple[Consumer[Any, Any], Producer, PausedPartitions]


class Delivery(Work[V, K]):
    """A message of a work queue.

    It is done once it is retried or rejected, or the loop asks for the next message.
    """

    def __init__(
        self,
        message: Message[V, K],
        plan: Plan,
        consumer: Consumer[Any, Any],
        producer: Producer,
    ) -> None:
        """Created by a queue."""
        super().__init__(message)
        self._plan = plan
        self._consumer = consumer
        self._producer = producer

    async def retry(self, delay: float | None = None, reason: str = "") -> None:
        """Schedules another delivery of the message, like ``streamlog.Delivery.retry``.

        Raises:
            ConfigError: The delay is longer than the longest delay of the queue.
            StreamlogError: It was already retried or rejected, or cannot be published.
        """
        self._check_open()
        await self._publish(self._plan.again(self.message, delay, reason))

    async def reject(self, reason: str = "") -> None:
        """Rejects the message as a dead letter.

        Raises:
            StreamlogError: It was already retried or rejected, or cannot be published.
        """
        self._check_open()
        await self._publish(self._plan.dead(self.message, reason))

    async def _publish(self, letter: Letter) -> None:
        value, key = self.message.raw_value, self.message.raw_key
        await self._producer.send(letter.topic, value, key=key, headers=letter.headers)
        self._is_settled = True
        # During a rebalance the commit fails, and the original message is delivered again too.
        with suppress(BrokerError):
            await self._consumer.commit(self.message)


class WorkQueue(Typed[V, K]):
    """Messages processed by a group: ``streamlog.WorkQueue`` for ``async with`` and ``async for``.

    Example:
        >>> async with streamlog.aio.WorkQueue(client, "orders", group="billing") as queue:
        ...     delivery = await anext(queue)
        ...     await delivery.reject("no such customer")
        >>> [letter.value async for letter in client.topic("billing.dead")]
        [b'{"id": 0}']
    """

    def __init__(
        self,
        client: "Client",
        topics: str | Sequence[str],
        *,
        group: str,
        backoff: Sequence[float] = (1.0, 10.0, 60.0),
        max_deliveries: int = 5,
        key: Callable[[bytes], K] | None = None,
        value: Callable[[bytes], V] | None = None,
        **options: Unpack[QueueOptions[asyncio.Event]],
    ) -> None:
        """Does not connect yet; takes the arguments of ``streamlog.WorkQueue``.

        Raises:
            ConfigError: An option is invalid.
        """
        self._plan = Plan.of(group, backoff, max_deliveries)
        self._client = client
        self._topics = [topics] if isinstance(topics, str) else list(topics)
        self._options: dict[str, Any] = {**options, "group": group, "key": key, "value": value}
        if key is not None or value is not None:
            self._options["on_error"] = DeadLetters(self._plan.dead_letters)
        self._opened: _Opened | None = None

    async def __aenter__(self) -> Self:
        """Creates missing topics, and joins the group.

        Raises:
            TopicNotFound: There is no such topic.
        """
        counts = [await self._client.topic(name).partitions() for name in self._topics]
        for name in [*self._plan.retry_topics, self._plan.dead_letters]:
            await self._client.admin.create_topic(name, partitions=max(counts), exist_ok=True)
        sources = [*self._topics, *self._plan.retry_topics]
        consumer = await self._client.consumer(sources, **self._options)
        self._opened = (consumer, self._client.producer(), PausedPartitions(consumer))
        return self

    async def __aexit__(self, *_error: object) -> None:
        """Closes it."""
        await self.close()

    def __aiter__(self) -> Self:
        """The queue itself."""
        return self

    async def __anext__(self) -> Delivery[V, K]:
        """Returns the next message that is due.

        Raises:
            StopAsyncIteration: The queue was closed or ended.
        """
        consumer, producer, paused = self._entered()
        loop = asyncio.get_running_loop()
        while True:
            paused.resume(loop.time())
            message = await self._next(consumer, paused)
            seconds = seconds_until_due(message)
            if seconds <= 0:
                return Delivery(message, self._plan, consumer, producer)
            paused.pause(message, loop.time() + seconds)

    def end(self) -> None:
        """Ends the loop after the current message; does not close the queue."""
        self._entered()[0].end()

    async def close(self) -> None:
        """Commits finished messages and leaves the group. Idempotent."""
        if self._opened is not None:
            consumer, producer, _ = self._opened
            await consumer.close()
            await producer.close()

    def _entered(self) -> _Opened:
        if self._opened is None:
            raise Closed("the queue does not read yet: enter its block")
        return self._opened

    async def _next(
        self, consumer: Consumer[Any, Any], paused: PausedPartitions
    ) -> Message[Any, Any]:
        loop = asyncio.get_running_loop()
        while (until := paused.next_due()) is not None:
            message = await consumer.next_before(until)
            if message is not None:
                return message
            if loop.time() < until - EARLY_SECONDS:
                raise StopAsyncIteration
            paused.resume(loop.time())
        return await anext(consumer)
