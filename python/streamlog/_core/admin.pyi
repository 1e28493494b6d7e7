"""Administration."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import final

from streamlog.arguments.options import Start as _Start
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
            partitions: The number of partitions; the broker's default if omitted.
            replicas: The number of replicas of each partition; the broker's default if omitted.
            retention: The time for which records are kept.
            config: Settings of the topic under Kafka's names.
            exist_ok: True to accept an existing topic unchanged.

        Raises:
            TopicExists: The topic exists already, and ``exist_ok`` is false.
            ConfigError: The name or an option is invalid.
            BrokerError: The broker refused the request.

        Example:
            >>> client.admin.create_topic("events", partitions=6, retention=timedelta(days=30))
            >>> client.admin.create_topic("orders", exist_ok=True)
        """

    def delete_topic(self, name: str, *, missing_ok: bool = False) -> None:
        """Deletes a topic.

        Raises:
            TopicNotFound: The topic does not exist, and ``missing_ok`` is false.

        Example:
            >>> client.admin.delete_topic("orders")
            >>> client.admin.delete_topic("orders", missing_ok=True)
        """

    def topics(self, *, internal: bool = False) -> list[str]:
        """Returns the names of all topics, with internal topics only if ``internal`` is true.

        Example:
            >>> client.admin.topics()
            ['orders']
        """

    def begin_offsets(self, topic: str) -> dict[int, int | None]:
        """Returns the first offset of each partition.

        Raises:
            TopicNotFound: There is no such topic.

        Example:
            >>> client.admin.begin_offsets("orders")
            {0: 0}
        """

    def end_offsets(self, topic: str) -> dict[int, int | None]:
        """Returns the offset after the last record of each partition.

        Raises:
            TopicNotFound: There is no such topic.

        Example:
            >>> client.admin.end_offsets("orders")
            {0: 3}
        """

    def offsets_at(self, topic: str, time: datetime | timedelta) -> dict[int, int | None]:
        """Returns for each partition the first offset at or after a time, None if there is none.

        Raises:
            TopicNotFound: There is no such topic.
            ConfigError: The time has no time zone.

        Example:
            >>> client.admin.offsets_at("orders", timedelta(hours=-1))
            {0: 0}
        """

    def topic(self, name: str) -> TopicDescription:
        """Returns a description of the topic and its partitions.

        Raises:
            TopicNotFound: There is no such topic.

        Example:
            >>> client.admin.topic("orders").partitions[0].leader
            1
        """

    def set_partitions(self, name: str, partitions: int) -> None:
        """Increases the number of partitions of a topic. Keys may map to other partitions then.

        Raises:
            TopicNotFound: There is no such topic.
            BrokerError: It already has as many partitions, or more.

        Example:
            >>> client.admin.set_partitions("orders", 3)
            >>> client.topic("orders").partitions()
            3
        """

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        """Deletes the records below an offset, and returns the new first offset.

        Raises:
            TopicNotFound: There is no such partition.
            BrokerError: The offset is beyond the end of the log.

        Example:
            >>> client.admin.delete_records("orders", 0, before=2)
            2
        """

    def settings(
        self, *, topic: str | None = None, broker: int | None = None
    ) -> dict[str, Setting]:
        """Returns the settings of a topic, of a broker, or of all brokers, by name.

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
        """Changes settings; None resets one to its default. Applies all changes or none.

        Args:
            changes: New values under Kafka's names.
            topic: The topic whose settings change.
            broker: The broker whose settings change. Without a topic or a broker, the settings of
                all brokers change.
            dry_run: True to validate the changes only.

        Raises:
            TopicNotFound: There is no such topic.
            BrokerError: A setting is invalid; the message names it.

        Example:
            >>> client.admin.set_settings({"retention.ms": 3600000}, topic="orders")
            >>> client.admin.settings(topic="orders")["retention.ms"].source
            'topic'
        """

    def groups(self) -> list[str]:
        """Returns the names of all groups.

        Example:
            >>> client.admin.groups()
            []
        """

    def group(self, name: str) -> Group:
        """Returns the group of this name, without contacting a broker.

        Example:
            >>> client.admin.group("billing").name
            'billing'
        """

    def cluster(self) -> ClusterDescription:
        """Returns a description of the cluster and its brokers.

        Example:
            >>> [broker.id for broker in client.admin.cluster().brokers]
            [1]
        """

@final
class Group:
    """Administration of a consumer group.

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
        """Returns its state and its members.

        Raises:
            BrokerError: There is no such group.

        Example:
            >>> with client.consumer("orders", group="billing") as consumer:
            ...     message = next(consumer)
            ...     client.admin.group("billing").describe().state
            'Stable'
        """

    def committed(self) -> dict[tuple[str, int], int]:
        """Returns its committed offsets, sorted by topic and partition; empty without such a group.

        Example:
            >>> client.admin.group("billing").committed()
            {}
        """

    def lag(self) -> dict[tuple[str, int], int]:
        """Returns its lag in each partition of the topics for which it has committed offsets.

        The lag is the number of offsets between the committed offset, or the first offset of the
        log, and the end.

        Raises:
            BrokerError: There is no such group.

        Example:
            >>> with client.consumer("orders", group="billing") as consumer:
            ...     seen = list(consumer.until_end())
            >>> client.admin.group("billing").lag()
            {('orders', 0): 0}
        """

    def commit(self, offsets: Mapping[tuple[str, int], int]) -> None:
        """Commits offsets for a group without members, by topic and partition.

        Monitoring tools then see the positions of a program that stores them elsewhere.

        Raises:
            BrokerError: The group has members, which commit their own offsets.
            ConfigError: A topic's name is invalid, or an offset is negative.

        Example:
            >>> client.admin.group("nightly").commit({("orders", 0): 2})
            >>> client.admin.group("nightly").lag()
            {('orders', 0): 1}
        """

    def reset(
        self, topics: str | Sequence[str], *, to: _Start, dry_run: bool = False
    ) -> list[OffsetChange]:
        """Resets the offsets of a group without members, and returns the changes.

        Args:
            topics: The topics to reset.
            to: An end of the log, an offset, a time, or a timedelta from now; a position outside
                the log is moved to its nearer end.
            dry_run: True to return the changes without applying them.

        Raises:
            TopicNotFound: There is no such topic.
            BrokerError: The group has members, which would overwrite the offsets.

        Example:
            >>> billing = client.admin.group("billing")
            >>> for change in billing.reset("orders", to="latest", dry_run=True):
            ...     print(change.topic, change.partition, change.before, change.after)
            orders 0 None 3
        """

    def delete(self, *, missing_ok: bool = False) -> None:
        """Deletes a group without members, with its offsets.

        Raises:
            BrokerError: It has members, or does not exist and ``missing_ok`` is false.

        Example:
            >>> client.admin.group("billing").delete(missing_ok=True)
        """
