"""Administration."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import final

from streamlog._core.reading import _Start
from streamlog.descriptions import (
    ClusterDescription,
    GroupDescription,
    OffsetChange,
    Setting,
    TopicDescription,
)

__all__ = [
    "Admin",
    "Group",
]

@final
class Admin:
    """Administration of a cluster.

    Example:
        >>> client.admin.create_topic("events", partitions=6)
        >>> sorted(client.admin.topics())
        ['events', 'orders']
    """

    def create_topic(
        self,
        name: str,
        *,
        partitions: int | None = None,
        replicas: int | None = None,
        retention: timedelta | None = None,
        config: Mapping[str, str | int | float | bool] | None = None,
        exist_ok: bool = False,
    ) -> None:
        """Creates a topic and waits until it can be used.

        Args:
            name: Letters, digits, '.', '_' and '-'.
            partitions: How many; the broker's default if omitted.
            replicas: How many of each; the broker's default if omitted.
            retention: How long records are kept.
            config: Settings of the topic under Kafka's names.
            exist_ok: Whether a topic that is there already is fine as it is.

        Raises:
            TopicExists: There is one already.
            ConfigError: The name or an option does not fit.
            BrokerError: The broker refused.

        Example:
            >>> client.admin.create_topic("events", partitions=6, retention=timedelta(days=30))
            >>> client.admin.create_topic("orders", exist_ok=True)
        """

    def delete_topic(self, name: str, *, missing_ok: bool = False) -> None:
        """Deletes a topic.

        Raises:
            TopicNotFound: There is none, and that is not fine.

        Example:
            >>> client.admin.delete_topic("orders")
            >>> client.admin.delete_topic("orders", missing_ok=True)
        """

    def topics(self, *, internal: bool = False) -> list[str]:
        """The names of all topics; those that brokers keep for themselves only when asked for.

        Example:
            >>> client.admin.topics()
            ['orders']
        """

    def begin_offsets(self, topic: str) -> dict[int, int | None]:
        """The first offset of each partition.

        Raises:
            TopicNotFound: There is no such topic.

        Example:
            >>> client.admin.begin_offsets("orders")
            {0: 0}
        """

    def end_offsets(self, topic: str) -> dict[int, int | None]:
        """The offset after the last record of each partition.

        Raises:
            TopicNotFound: There is no such topic.

        Example:
            >>> client.admin.end_offsets("orders")
            {0: 3}
        """

    def offsets_at(self, topic: str, time: datetime | timedelta) -> dict[int, int | None]:
        """The first offset of that time or later, of each partition; None where there is none.

        Raises:
            TopicNotFound: There is no such topic.
            ConfigError: The time has no time zone.

        Example:
            >>> client.admin.offsets_at("orders", timedelta(hours=-1))
            {0: 0}
        """

    def topic(self, name: str) -> TopicDescription:
        """The topic and its partitions.

        Raises:
            TopicNotFound: There is no such topic.

        Example:
            >>> client.admin.topic("orders").partitions[0].leader
            1
        """

    def set_partitions(self, name: str, partitions: int) -> None:
        """Gives a topic more partitions: so many in all. Keys may move to other partitions.

        Raises:
            TopicNotFound: There is no such topic.
            BrokerError: It has as many already, or more.

        Example:
            >>> client.admin.set_partitions("orders", 3)
            >>> client.topic("orders").partitions()
            3
        """

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        """Deletes the records below an offset, and returns where the partition begins now.

        Raises:
            TopicNotFound: There is no such partition.
            BrokerError: The offset lies beyond the end.

        Example:
            >>> client.admin.delete_records("orders", 0, before=2)
            2
        """

    def settings(
        self, *, topic: str | None = None, broker: int | None = None
    ) -> dict[str, Setting]:
        """The settings, by name, of a topic, of a broker, or of all brokers together.

        Raises:
            TopicNotFound: There is no such topic.

        Example:
            >>> client.admin.settings(topic="orders")["retention.ms"].value
            '604800000'
        """

    def set_settings(
        self,
        changes: Mapping[str, str | float | None],
        *,
        topic: str | None = None,
        broker: int | None = None,
        dry_run: bool = False,
    ) -> None:
        """Sets settings, or takes those that are None back to their defaults: all, or none.

        Args:
            changes: Values under Kafka's names.
            topic: The topic that they are for.
            broker: The broker that they are for; without either, they are for all brokers.
            dry_run: Whether they are looked at only.

        Raises:
            TopicNotFound: There is no such topic.
            BrokerError: A setting does not fit; the message names it.

        Example:
            >>> client.admin.set_settings({"retention.ms": 3600000}, topic="orders")
            >>> client.admin.settings(topic="orders")["retention.ms"].source
            'topic'
        """

    def groups(self) -> list[str]:
        """The names of all groups.

        Example:
            >>> client.admin.groups()
            []
        """

    def group(self, name: str) -> Group:
        """The group of this name; no broker is asked yet.

        Example:
            >>> client.admin.group("billing").name
            'billing'
        """

    def cluster(self) -> ClusterDescription:
        """The cluster and its brokers.

        Example:
            >>> [broker.id for broker in client.admin.cluster().brokers]
            [1]
        """

@final
class Group:
    """A group of consumers, seen from outside.

    Example:
        >>> with client.consumer("orders", group="billing") as consumer:
        ...     seen = list(consumer.take(2))
        >>> client.admin.group("billing").lag()
        {('orders', 0): 1}
    """

    @property
    def name(self) -> str:
        """Its name.

        Example:
            >>> client.admin.group("billing").name
            'billing'
        """

    def describe(self) -> GroupDescription:
        """Its state and its members.

        Raises:
            BrokerError: There is no such group.

        Example:
            >>> with client.consumer("orders", group="billing") as consumer:
            ...     message = next(consumer)
            ...     client.admin.group("billing").describe().state
            'Stable'
        """

    def committed(self) -> dict[tuple[str, int], int]:
        """The offsets it has stored, sorted by topic and partition; none if there is no such group.

        Example:
            >>> client.admin.group("billing").committed()
            {}
        """

    def lag(self) -> dict[tuple[str, int], int]:
        """How many offsets lie before it in each partition of the topics that it reads.

        Example:
            >>> with client.consumer("orders", group="billing") as consumer:
            ...     seen = list(consumer.until_end())
            >>> client.admin.group("billing").lag()
            {('orders', 0): 0}
        """

    def commit(self, offsets: Mapping[tuple[str, int], int]) -> None:
        """Stores offsets for the group, by topic and partition, while nobody is in it.

        Whoever reads by other means shows how far it is so: all that watches groups sees it.

        Raises:
            BrokerError: The group has members: they store their own.
            ConfigError: A topic's name does not fit, or an offset is negative.

        Example:
            >>> client.admin.group("nightly").commit({("orders", 0): 2})
            >>> client.admin.group("nightly").lag()
            {('orders', 0): 1}
        """

    def reset(
        self, topics: str | Sequence[str], *, to: _Start, dry_run: bool = False
    ) -> list[OffsetChange]:
        """Lets the group go on elsewhere, while nobody is in it, and tells what that changes.

        Args:
            topics: The topics it is about.
            to: An end of the log, an offset, a time, or a timedelta from now; what lies outside the
                log becomes the nearer end of it.
            dry_run: Whether it is only told.

        Raises:
            TopicNotFound: There is no such topic.
            BrokerError: The group has members: they would go on where they are.

        Example:
            >>> billing = client.admin.group("billing")
            >>> for change in billing.reset("orders", to="latest", dry_run=True):
            ...     print(change.topic, change.partition, change.before, change.after)
            orders 0 None 3
        """

    def delete(self, *, missing_ok: bool = False) -> None:
        """Deletes the group with its offsets, while nobody is in it.

        Raises:
            BrokerError: It has members, or there is none and that is not fine.

        Example:
            >>> client.admin.group("billing").delete(missing_ok=True)
        """
