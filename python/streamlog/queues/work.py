"""Work queues for programs with threads."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Literal, Self, overload

from streamlog._core import Client
from streamlog._core.producing import Producer
from streamlog._core.reading import Consumer, Message
from streamlog.errors import BrokerError, ConfigError
from streamlog.queues.delivery import Work
from streamlog.queues.generics import K, Typed, V
from streamlog.queues.letters import DeadLetters
from streamlog.queues.plan import Letter, Plan, seconds_until_due
from streamlog.stopping import Event

__all__ = ["Delivery", "WorkQueue"]

_EARLY_SECONDS = 0.005
"""A wait that ends earlier than this before its time was ended by the program."""


class Outlet:
    """The way back of a queue's messages: its topics, and a producer for them."""

    def __init__(self, plan: Plan, consumer: Consumer[Any, Any], producer: Producer) -> None:
        """A queue makes it."""
        self.plan = plan
        self._consumer = consumer
        self._producer = producer

    def publish(self, message: Message[Any, Any], letter: Letter) -> None:
        """Publishes the message as the letter says, and commits it behind that."""
        value, key = message.raw_value, message.raw_key
        ticket = self._producer.send(letter.topic, value, key=key, headers=letter.headers)
        ticket.result()
        # In a rebalance it cannot be committed, and is delivered here again as well.
        with suppress(BrokerError):
            self._consumer.commit(message)

    def close(self) -> None:
        """Closes the producer."""
        self._producer.close()


class Delivery(Work[V, K]):
    """A message of a work queue.

    It is done with once it is retried or rejected, or the loop asks for the next.

    Example:
        >>> with streamlog.WorkQueue(client, "orders", group="billing") as queue:
        ...     delivery = next(queue)
        ...     delivery.deliveries, delivery.origin, delivery.value
        (1, ('orders', 0, 0), b'{"id": 0}')
    """

    def __init__(self, message: Message[V, K], outlet: "Outlet") -> None:
        """A queue makes it."""
        super().__init__(message)
        self._outlet = outlet

    def retry(self, delay: float | None = None, reason: str = "") -> None:
        """Has the message delivered again later, and returns once that is on disk.

        Args:
            delay: Seconds until then, rounded up to one of the queue's ``backoff``; by the count of
                deliveries if omitted.
            reason: What went wrong, for whoever looks at it.

        After ``max_deliveries`` it is rejected instead.

        Raises:
            ConfigError: The delay is longer than all that the queue has.
            StreamlogError: It was retried or rejected before, or cannot be published.

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
        """Sets the message aside as a dead letter, and returns once that is on disk.

        Raises:
            StreamlogError: It was retried or rejected before, or cannot be published.

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
    """Messages that a group works on, each until it is done, tried again later, or set aside.

    It is an iterator like a consumer, and everything is a topic: one for each delay of ``backoff``,
    named after the group, and one for dead letters, ``GROUP.dead``. They are created where they are
    missing. Brokers know nothing of it, and members may come and go as in any group.

    - A message is done with once it is retried or rejected, or the loop asks for the next: *at
      least once*. What a crash leaves in hand comes again, and a crash or a rebalance in the middle
      of a retry gives a message out twice.
    - Messages that are not retried keep the order of their partition. One that is retried is
      overtaken by those behind it, also by those with its key.

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
        start: Literal["earliest", "latest"] | int | datetime | timedelta = ...,
        stop: Event | None = None,
        signals: bool = False,
        config: dict[str, Any] | None = None,
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
        start: Literal["earliest", "latest"] | int | datetime | timedelta = ...,
        stop: Event | None = None,
        signals: bool = False,
        config: dict[str, Any] | None = None,
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
        **options: Any,
    ) -> None:
        """Creates the topics that are missing, and joins the group.

        Args:
            client: The client; it outlives the queue.
            topics: The topics with the work.
            group: The group that works on them; its retry topics and dead letters are its own.
            backoff: Seconds before the second delivery, the third and so on.
            max_deliveries: How often a message is delivered before a retry rejects it.
            key: Makes a message's key of its bytes.
            value: Makes a message's value of its bytes; what cannot be decoded is a dead letter.
            options: ``start``, ``stop``, ``signals`` and ``config``, as for ``Client.consumer``.

        Raises:
            TopicNotFound: There is no such topic.
            ConfigError: An option does not fit.
        """
        plan = Plan.of(group, backoff, max_deliveries)
        names = [topics] if isinstance(topics, str) else list(topics)
        partitions = max(client.topic(name).partitions() for name in names)
        for name in [*plan.retry_topics, plan.dead_letters]:
            client.admin.create_topic(name, partitions=partitions, exist_ok=True)
        if key is not None or value is not None:
            options["on_error"] = DeadLetters(plan.dead_letters)
        sources = [*names, *plan.retry_topics]
        self._consumer: Consumer[Any, Any] = client.consumer(
            sources, group=group, key=key, value=value, **options
        )
        self._outlet = Outlet(plan, self._consumer, client.producer())
        self._due: dict[tuple[str, int], float] = {}

    def __iter__(self) -> Self:
        """The queue itself."""
        return self

    def __next__(self) -> Delivery[V, K]:
        """The next message that is due.

        Raises:
            StopIteration: The queue was closed or ended.
        """
        while True:
            self._resume()
            message = self._next()
            seconds = seconds_until_due(message)
            if seconds <= 0:
                return Delivery(message, self._outlet)
            self._hold(message, time.monotonic() + seconds)

    def end(self) -> None:
        """Ends the loop once the message in hand is done; the queue still has to be closed.

        Example:
            >>> with streamlog.WorkQueue(client, "orders", group="billing") as queue:
            ...     for delivery in queue:
            ...         queue.end()
            ...     delivery.origin
            ('orders', 0, 0)
        """
        self._consumer.end()

    def close(self) -> None:
        """Stores what is done and leaves the group. Doing it again does nothing.

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
        """The consumer that it reads by."""
        return f"<WorkQueue on {self._consumer!r}>"

    def _next(self) -> Message[V, K]:
        """The next message, due or not; none after the time at which one that is held is due."""
        while self._due:
            until = min(self._due.values())
            left = max(until - time.monotonic(), 0.0)
            for message in self._consumer.take(1, timeout=left):
                return message
            if time.monotonic() < until - _EARLY_SECONDS:
                raise StopIteration
            self._resume()
        return next(self._consumer)

    def _hold(self, message: Message[Any, Any], due: float) -> None:
        """Reads the message again once it is due, and those behind it, which are due later."""
        place = (message.topic, message.partition)
        try:
            self._consumer.pause(place)
            self._consumer.seek({place: message.offset})
        except ConfigError:
            # The partition went to another member meanwhile, which reads it there.
            return
        self._due[place] = due

    def _resume(self) -> None:
        now = time.monotonic()
        for place in [place for place, due in self._due.items() if due <= now]:
            del self._due[place]
            try:
                self._consumer.resume(place)
            except ConfigError:
                # It is another member's by now.
                continue
