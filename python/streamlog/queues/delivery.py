"""A message of a work queue, for threads and for asyncio."""

from datetime import datetime

from streamlog._core.reading import Message
from streamlog.errors import StreamlogError
from streamlog.queues.generics import K, Typed, V
from streamlog.queues.plan import deliveries, origin

__all__ = ["Work"]


class Work(Typed[V, K]):
    """A message of a work queue, and the number of its deliveries."""

    message: Message[V, K]
    """The message as it was read."""
    deliveries: int
    """The number of deliveries, including this one. Deliveries repeated after a crash do not
    count."""
    origin: tuple[str, int, int]
    """The topic, partition and offset of the original message."""

    def __init__(self, message: Message[V, K]) -> None:
        """Created by a queue."""
        self.message = message
        self.deliveries = deliveries(message)
        self.origin = origin(message)
        self._is_settled = False

    @property
    def key(self) -> K:
        """Its key: bytes, the result of the queue's ``key=``, or None."""
        return self.message.key

    @property
    def value(self) -> V:
        """Its value: bytes, or the result of the queue's ``value=``; None is a tombstone."""
        return self.message.value

    @property
    def headers(self) -> tuple[tuple[str, bytes | None], ...]:
        """Its headers in order; a name may occur twice."""
        return self.message.headers

    @property
    def timestamp(self) -> datetime | None:
        """Its timestamp, in UTC; for a retried message, the time of the retry."""
        return self.message.timestamp

    def __repr__(self) -> str:
        """The message, and the number of its deliveries."""
        return f"<delivery {self.deliveries} of {self.message!r}>"

    def _check_open(self) -> None:
        if self._is_settled:
            raise StreamlogError(f"{self!r} was retried or rejected already")
