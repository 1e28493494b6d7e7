"""Events and statistics of a client, for ``Client.on_event`` and ``Client.stats``."""

from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["ClientStats", "Connected", "Event", "Lost", "Rebalanced", "Throttled"]


@dataclass(frozen=True, slots=True)
class Connected:
    """The client has reached a broker again, after ``Lost``."""

    address: str
    """The broker that answered."""
    outage: float
    """The duration of the outage, in seconds."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The client has lost all brokers: the last connection broke, and no broker can be reached."""

    address: str
    """The broker that was tried last."""
    reason: str
    """The cause."""


@dataclass(frozen=True, slots=True)
class Throttled:
    """A broker delayed a response because the client exceeded its quota."""

    address: str
    """The broker."""
    delay: float
    """The delay in seconds."""


@dataclass(frozen=True, slots=True)
class Rebalanced:
    """A consumer of the client was assigned partitions in a rebalance of its group."""

    group: str
    """The group."""
    generation: int
    """The group's generation."""
    partitions: list[tuple[str, int]]
    """The new assignment, as topics and partitions."""


Event: TypeAlias = Connected | Lost | Throttled | Rebalanced
"""An event; match on its class."""


@dataclass(frozen=True, slots=True)
class ClientStats:
    """Statistics of a client since it was connected."""

    connections: int
    """Open connections."""
    is_lost: bool
    """True if the client has lost all brokers."""
    connects: int
    """Connections made."""
    losses: int
    """Outages: the number of times that all brokers were lost."""
    requests: int
    """Requests sent."""
    bytes_sent: int
    """Bytes of requests."""
    bytes_received: int
    """Bytes of responses."""
    throttled: int
    """Responses to produce and fetch requests that were delayed by a quota."""
    rebalances: int
    """Rebalances of groups in which consumers of the client took part."""
