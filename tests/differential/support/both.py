"""A thing that exists twice: once for Apache Kafka, once for streamlog."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True)
class Both(Generic[T]):
    """One value for each broker.

    Inside of a request it stands for the value of the broker that the request goes to: so a member
    uses the id that each broker gave it.
    """

    kafka: T
    streamlog: T

    def map(self, function: Callable[[T], U]) -> "Both[U]":
        """Applies a function to each."""
        return Both(function(self.kafka), function(self.streamlog))

    def __iter__(self) -> Iterator[T]:
        """Apache Kafka's first."""
        return iter((self.kafka, self.streamlog))


def resolved(value: object) -> Both[object]:
    """A request's body, with all that differs between the brokers put in its place."""
    if isinstance(value, Both):
        return value
    if isinstance(value, dict):
        fields = {name: resolved(inner) for name, inner in value.items()}
        return Both(
            {name: inner.kafka for name, inner in fields.items()},
            {name: inner.streamlog for name, inner in fields.items()},
        )
    if isinstance(value, list):
        items = [resolved(inner) for inner in value]
        return Both([item.kafka for item in items], [item.streamlog for item in items])
    return Both(value, value)
