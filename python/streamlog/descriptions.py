"""Descriptions of topics, settings, groups and brokers, as returned by administration calls."""

from dataclasses import dataclass

__all__ = [
    "BrokerDescription",
    "ClusterDescription",
    "GroupDescription",
    "MemberDescription",
    "OffsetChange",
    "PartitionDescription",
    "Setting",
    "TopicDescription",
]


@dataclass(frozen=True, slots=True)
class PartitionDescription:
    """A partition and the brokers of its replicas."""

    partition: int
    leader: int | None
    """The broker that serves reads and writes; None without a leader."""
    replicas: list[int]
    """The brokers that are assigned a replica."""
    isr: list[int]
    """The in-sync replicas."""


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """A topic and its partitions."""

    name: str
    id: str
    is_internal: bool
    """True for an internal topic of the brokers."""
    partitions: list[PartitionDescription]


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of a topic or a broker."""

    name: str
    value: str | None
    """The value; None if it is not set, or secret."""
    source: str
    """The source of the value, as ``"topic"`` or ``"default"``."""
    is_read_only: bool
    """True if it can only be set when the broker starts, or when the topic is created."""
    about: str | None
    """The meaning of the setting, if the broker tells it."""


@dataclass(frozen=True, slots=True)
class MemberDescription:
    """A consumer in a group."""

    member_id: str
    instance_id: str | None
    """The static member's ``group.instance.id``, if it has one."""
    client_id: str
    host: str
    partitions: list[tuple[str, int]]
    """The assigned partitions, as topic and number."""


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """A group and its members."""

    name: str
    state: str
    """Kafka's name of the state, as ``"Stable"`` or ``"Empty"``."""
    assignor: str
    """The assignor chosen by the group; empty before the first rebalance."""
    members: list[MemberDescription]


@dataclass(frozen=True, slots=True)
class OffsetChange:
    """The change of a partition's committed offset by a reset."""

    topic: str
    partition: int
    before: int | None
    """The committed offset before the reset, if there was one."""
    after: int
    """The committed offset after the reset; with a dry run, the planned one."""


@dataclass(frozen=True, slots=True)
class BrokerDescription:
    """A broker of the cluster."""

    id: int
    address: str
    """The address for clients."""
    rack: str | None


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """The cluster and its brokers."""

    id: str
    controller: int | None
    brokers: list[BrokerDescription]
