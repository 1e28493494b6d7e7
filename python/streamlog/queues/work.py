"""Work queues for threads."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, Unpack, overload

from streamlog._core import Client
from streamlog._core.producing import Producer
from streamlog._core.reading import Consumer, Message
from streamlog.arguments.options import QueueOptions
from streamlog.errors import BrokerError
from streamlog.queues.delivery import Work
from streamlog.queues.generics import K, Typed, V
from streamlog.queues.letters import DeadLetters
from streamlog.queues.paused import EARLY_SECONDS, PausedPartitions
from streamlog.queues.plan import Letter, Plan, seconds_until_due
from streamlog.stopping import Event

__all__ = ["Delivery", "WorkQueue"]


class Outlet:
    """Publishes retries and dead letters of a queue."""

    def __init__(self, plan: Plan, consumer: Consumer[Any, Any], producer: Producer) -> None:
        """Created by a queue."""
        self.plan = plan
        self._consumer = consumer
        self._producer = producer

    def publish(self, message: Message[Any, Any], letter: Letter) -> None:
        """Publishes `letter`, and commits the original message once it is delivered."""
        value, key = message.raw_value, message.raw_key
        ticket = self._producer.send(letter.topic, value, key=key, headers=letter.headers)
        ticket.result()
        # During a rebalance the commit fails, and the original message is delivered again too.
        with suppress(BrokerError):
            self._consumer.commit(message)

    def close(self) -> None:
        """Closes the producer."""
        self._producer.close()


class Delivery(Work[V, K]):
    """A message of a work queue.

    It is done once it is retried or rejected, or the loop asks for the next message.

    Example:
        >>> with streamlog.WorkQueue(client, "orders", group="billing") as queue:
        ...     delivery = next(queue)
        ...     delivery.deliveries, delivery.origin, delivery.value
        (1, ('orders', 0, 0), b'{"id": 0}')
    """

    def __init__(self, message: Message[V, K], outlet: "Outlet") -> None:
        """Created by a queue."""
        super().__init__(message)
        self._outlet = outlet

    def retry(self, delay: float | None = None, reason: str = "") -> None:
        """Schedules another delivery of the message, and returns once the schedule is on disk.

        Args:
            delay: Seconds until that delivery, rounded up to one of the queue's ``backoff``; by
                default chosen by the number of deliveries.
            reason: The reason of the retry, for the headers.

        After ``max_deliveries`` the message is rejected instead.

        Raises:
            ConfigError: The delay is longer than the longest delay of the queue.
            StreamlogError: It was already retried or rejected, or cannot be published.

        Example:
            >>> with streamlog.WorkQueue(client, "orders", group="g", backoff=(0.05,)) as queue:
            ...     for delivery in queue:
            ...         if delivery.deliveries == 2:
            ...             break
            ...         delivery.retry(reason="the printer is on fire")
            >>> delivery.origin
            ('orders', 0, 0)
        """
        self._check_open()
        self._outlet.publish(self.message, self._outlet.plan.again(self.message, delay, reason))
        self._is_settled = True

    def reject(self, reason: str = "") -> None:
        """Rejects the message as a dead letter, and returns once the letter is on disk.

        Raises:
            StreamlogError: It was already retried or rejected, or cannot be published.

        Example:
            >>> with streamlog.WorkQueue(client, "orders", group="billing") as queue:
            ...     next(queue).reject("no such customer")
            >>> [letter.value for letter in client.topic("billing.dead")]
            [b'{"id": 0}']
        """
        self._check_open()
        self._outlet.publish(self.message, self._outlet.plan.dead(self.message, reason))
        self._is_settled = True


class WorkQueue(Typed[V, K]):
    """Messages processed by a group; each can be finished, retried later, or rejected.

    It is an iterator like a consumer, built on topics: one for each delay of ``backoff``, named
    after the group, and one for dead letters, ``GROUP.dead``. Missing topics are created. Brokers
    need no support for queues, and members may join and leave as in any group.

    - A message is done once it is retried or rejected, or the loop asks for the next message:
      delivery is *at least once*. After a crash the current message is delivered again, and a crash
      or a rebalance during a retry delivers a message twice.
    - Messages that are not retried keep the order of their partition. A retried message is
      overtaken by later messages, even by messages with the same key.

    Example:
        >>> with streamlog.WorkQueue(client, "orders", group="billing", value=json.loads) as queue:
        ...     for delivery in queue:
        ...         if delivery.value["id"] == 1:
        ...             delivery.reject("no such customer")
        ...         elif delivery.origin[2] == 2:
        ...             break
        >>> [letter.header("streamlog-error") for letter in client.topic("billing.dead")]
        [b'no such customer']
    """

    @overload
    def __init__(
        self: "WorkQueue[bytes | None, bytes | None]",
        client: Client,
        topics: str | Sequence[str],
        *,
        group: str,
        backoff: Sequence[float] = ...,
        max_deliveries: int = ...,
        key: None = None,
        value: None = None,
        **options: Unpack[QueueOptions[Event]],
    ) -> None: ...
    @overload
    def __init__(
        self,
        client: Client,
        topics: str | Sequence[str],
        *,
        group: str,
        backoff: Sequence[float] = ...,
        max_deliveries: int = ...,
        key: Callable[[bytes], K] | None = None,
        value: Callable[[bytes], V] | None = None,
        **options: Unpack[QueueOptions[Event]],
    ) -> None: ...
    def __init__(
        self,
        client: Client,
        topics: str | Sequence[str],
        *,
        group: str,
        backoff: Sequence[float] = (1.0, 10.0, 60.0),
        max_deliveries: int = 5,
        key: Callable[[bytes], Any] | None = None,
        value: Callable[[bytes], Any] | None = None,
        **options: Unpack[QueueOptions[Event]],
    ) -> None:
        """Creates missing topics, and joins the group.

        Args:
            client: The client; it has to outlive the queue.
            topics: The topics to process.
            group: The group that processes them; its retry topics and dead letters belong to it.
            backoff: Seconds before the second delivery, the third and so on.
            max_deliveries: The number of deliveries after which a retry rejects the message.
            key: Decodes keys.
            value: Decodes values; a message that cannot be decoded becomes a dead letter.
            options: ``start``, ``stop``, ``signals`` and ``config``, as for ``Client.consumer``.

        Raises:
            TopicNotFound: There is no such topic.
            ConfigError: An option is invalid.
        """
        plan = Plan.of(group, backoff, max_deliveries)
        names = [topics] if isinstance(topics, str) else list(topics)
        partitions = max(client.topic(name).partitions() for name in names)
        for name in [*plan.retry_topics, plan.dead_letters]:
            client.admin.create_topic(name, partitions=partitions, exist_ok=True)
        making: dict[str, Any] = {**options, "group": group, "key": key, "value": value}
        if key is not None or value is not None:
            making["on_error"] = DeadLetters(plan.dead_letters)
        sources = [*names, *plan.retry_topics]
        self._consumer: Consumer[Any, Any] = client.consumer(sources, **making)
        self._outlet = Outlet(plan, self._consumer, client.producer())
        self._paused = PausedPartitions(self._consumer)

    def __iter__(self) -> Self:
        """The queue itself."""
        return self

    def __next__(self) -> Delivery[V, K]:
        """Returns the next message that is due.

        Raises:
            StopIteration: The queue was closed or ended.
        """
        while True:
            self._paused.resume(time.monotonic())
            message = self._next()
            seconds = seconds_until_due(message)
            if seconds <= 0:
                return Delivery(message, self._outlet)
            self._paused.pause(message, time.monotonic() + seconds)

    def end(self) -> None:
        """Ends the loop after the current message; does not close the queue.

        Example:
            >>> with streamlog.WorkQueue(client, "orders", group="billing") as queue:
            ...     for delivery in queue:
            ...         queue.end()
            ...     delivery.origin
            ('orders', 0, 0)
        """
        self._consumer.end()

    def close(self) -> None:
        """Commits finished messages and leaves the group. Idempotent.

        Example:
            >>> queue = streamlog.WorkQueue(client, "orders", group="billing")
            >>> queue.close()
        """
        self._consumer.close()
        self._outlet.close()

    def __enter__(self) -> Self:
        """The queue itself."""
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        """Closes it."""
        self.close()

    def __repr__(self) -> str:
        """The consumer of the queue."""
        return f"<WorkQueue on {self._consumer!r}>"

    def _next(self) -> Message[V, K]:
        """Returns the next message, due or not; resumes paused partitions as they become due."""
        while (until := self._paused.next_due()) is not None:
            left = max(until - time.monotonic(), 0.0)
            for message in self._consumer.take(1, timeout=left):
                return message
            if time.monotonic() < until - EARLY_SECONDS:
                raise StopIteration
            self._paused.resume(time.monotonic())
        return next(self._consumer)
