"""What a client notices of its brokers, as ``Client.on_event`` and ``Client.stats`` tell it."""

from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["ClientStats", "Connected", "Event", "Lost", "Rebalanced", "Throttled"]


@dataclass(frozen=True, slots=True)
class Connected:
    """The client reaches its brokers again, after ``Lost``."""

    address: str
    """The broker that answered."""
    outage: float
    """Seconds without any."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The client has lost all brokers: the last connection broke, and no other can be made."""

    address: str
    """The broker that was tried last."""
    reason: str
    """The cause."""


@dataclass(frozen=True, slots=True)
class Throttled:
    """A broker delayed an answer because the client went beyond its quota."""

    address: str
    """The broker."""
    delay: float
    """The delay in seconds."""


@dataclass(frozen=True, slots=True)
class Rebalanced:
    """A consumer of the client got its share of a group's partitions."""

    group: str
    """The group."""
    generation: int
    """The group's generation."""
    partitions: list[tuple[str, int]]
    """The consumer's share from now on, as topics and partitions."""


Event: TypeAlias = Connected | Lost | Throttled | Rebalanced
"""An event, to be told apart by its class."""


@dataclass(frozen=True, slots=True)
class ClientStats:
    """Figures of a client since it was connected."""

    connections: int
    """Open connections."""
    is_lost: bool
    """Whether the client has lost all brokers."""
    connects: int
    """Connections made."""
    losses: int
    """Outages: how often all brokers were lost."""
    requests: int
    """Requests sent."""
    bytes_sent: int
    """Bytes of requests."""
    bytes_received: int
    """Bytes of answers."""
    throttled: int
    """Answers to produce and fetch requests that a quota delayed."""
    rebalances: int
    """Rebalances of groups in which consumers of the client took part."""
