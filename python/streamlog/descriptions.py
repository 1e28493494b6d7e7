"""What brokers tell of topics, settings, groups and themselves. None of it changes by itself."""

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
    """A partition, and which brokers have it."""

    partition: int
    leader: int | None
    """The broker that is written to and read from, if there is one."""
    replicas: list[int]
    """All brokers that should have it."""
    isr: list[int]
    """Those that have all of it."""


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """A topic and its partitions."""

    name: str
    id: str
    is_internal: bool
    """Whether brokers keep it for themselves."""
    partitions: list[PartitionDescription]


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of a topic or a broker."""

    name: str
    value: str | None
    """None where there is none, or it is secret."""
    source: str
    """Where the value comes from."""
    is_read_only: bool
    """Whether it can only be set where the broker is started."""
    about: str | None
    """What it means, if the broker says so."""


@dataclass(frozen=True, slots=True)
class MemberDescription:
    """A consumer in a group."""

    member_id: str
    instance_id: str | None
    """The name it has of its own, if it has one."""
    client_id: str
    host: str
    partitions: list[tuple[str, int]]
    """The topics and partitions that it reads."""


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """A group and its members."""

    name: str
    state: str
    """Kafka's name of it, as ``"Stable"`` or ``"Empty"``."""
    assignor: str
    """How partitions are shared out, once that is settled."""
    members: list[MemberDescription]


@dataclass(frozen=True, slots=True)
class OffsetChange:
    """What a reset does to a partition."""

    topic: str
    partition: int
    before: int | None
    """What the group had stored, if anything."""
    after: int
    """What it has stored now, or would have."""


@dataclass(frozen=True, slots=True)
class BrokerDescription:
    """A broker of the cluster."""

    id: int
    address: str
    """Where clients reach it."""
    rack: str | None


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """The cluster and its brokers."""

    id: str
    controller: int | None
    brokers: list[BrokerDescription]
