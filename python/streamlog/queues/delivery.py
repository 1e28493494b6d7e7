"""A message of a work queue, whichever way it is worked on."""

from datetime import datetime

from streamlog._core.reading import Message
from streamlog.errors import StreamlogError
from streamlog.queues.generics import K, Typed, V
from streamlog.queues.plan import deliveries, origin

__all__ = ["Work"]


class Work(Typed[V, K]):
    """A message of a work queue, and how often it was delivered."""

    message: Message[V, K]
    """The message as it was read."""
    deliveries: int
    """How often it was delivered, this time included. Deliveries that a crash repeats are not
    counted."""
    origin: tuple[str, int, int]
    """The topic, partition and offset at which it was read first."""

    def __init__(self, message: Message[V, K]) -> None:
        """A queue makes it."""
        self.message = message
        self.deliveries = deliveries(message)
        self.origin = origin(message)
        self._is_settled = False

    @property
    def key(self) -> K:
        """Its key: bytes, what the queue's ``key=`` made of them, or None."""
        return self.message.key

    @property
    def value(self) -> V:
        """Its value: bytes, or what the queue's ``value=`` made of them; None is a tombstone."""
        return self.message.value

    @property
    def headers(self) -> tuple[tuple[str, bytes | None], ...]:
        """Its headers in order; a name may occur twice."""
        return self.message.headers

    @property
    def timestamp(self) -> datetime | None:
        """Its time, in UTC; of a delivery that was retried, the time of that."""
        return self.message.timestamp

    def __repr__(self) -> str:
        """The message, and how often it was delivered."""
        return f"<delivery {self.deliveries} of {self.message!r}>"

    def _check_open(self) -> None:
        if self._is_settled:
            raise StreamlogError(f"{self!r} was retried or rejected already")
