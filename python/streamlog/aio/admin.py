"""Topics, settings, groups and the cluster."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from streamlog import _core
from streamlog.aio.options import Start
from streamlog.aio.waiting import answered
from streamlog.descriptions import (
    ClusterDescription,
    GroupDescription,
    OffsetChange,
    Setting,
    TopicDescription,
)

__all__ = ["Admin", "Group"]


class Admin:
    """Administration of a cluster: what ``streamlog.Admin`` has, awaited.

    Example:
        >>> await client.admin.create_topic("events", partitions=6)
        >>> sorted(await client.admin.topics())
        ['events', 'orders']
    """

    def __init__(self, core: _core.admin.Admin) -> None:
        """Client.admin makes it."""
        self._core = core

    async def create_topic(
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

        Raises:
            TopicExists: There is one already, and that is not fine.
            ConfigError: The name or an option does not fit.
            BrokerError: The broker refused.
        """
        await answered(
            self._core.create_topic,
            name,
            partitions=partitions,
            replicas=replicas,
            retention=retention,
            config=config,
            exist_ok=exist_ok,
        )

    async def delete_topic(self, name: str, *, missing_ok: bool = False) -> None:
        """Deletes a topic.

        Raises:
            TopicNotFound: There is none, and that is not fine.
        """
        await answered(self._core.delete_topic, name, missing_ok=missing_ok)

    async def topics(self, *, internal: bool = False) -> list[str]:
        """The names of all topics; those that brokers keep for themselves only when asked for."""
        return await answered(self._core.topics, internal=internal)

    async def topic(self, name: str) -> TopicDescription:
        """The topic and its partitions.

        Raises:
            TopicNotFound: There is no such topic.
        """
        return await answered(self._core.topic, name)

    async def set_partitions(self, name: str, partitions: int) -> None:
        """Gives a topic more partitions: so many in all.

        Raises:
            TopicNotFound: There is no such topic.
            BrokerError: It has as many already, or more.
        """
        await answered(self._core.set_partitions, name, partitions)

    async def begin_offsets(self, topic: str) -> dict[int, int | None]:
        """The first offset of each partition.

        Raises:
            TopicNotFound: There is no such topic.
        """
        return await answered(self._core.begin_offsets, topic)

    async def end_offsets(self, topic: str) -> dict[int, int | None]:
        """The offset after the last record of each partition.

        Raises:
            TopicNotFound: There is no such topic.
        """
        return await answered(self._core.end_offsets, topic)

    async def offsets_at(self, topic: str, time: datetime | timedelta) -> dict[int, int | None]:
        """The first offset of that time or later, of each partition; None where there is none.

        Raises:
            TopicNotFound: There is no such topic.
            ConfigError: The time has no time zone.
        """
        return await answered(self._core.offsets_at, topic, time)

    async def delete_records(self, topic: str, partition: int, before: int) -> int:
        """Deletes the records below an offset, and returns where the partition begins now.

        Raises:
            TopicNotFound: There is no such partition.
            BrokerError: The offset lies beyond the end.
        """
        return await answered(self._core.delete_records, topic, partition, before)

    async def settings(
        self, *, topic: str | None = None, broker: int | None = None
    ) -> dict[str, Setting]:
        """The settings, by name, of a topic, of a broker, or of all brokers together.

        Raises:
            TopicNotFound: There is no such topic.
        """
        return await answered(self._core.settings, topic=topic, broker=broker)

    async def set_settings(
        self,
        changes: Mapping[str, str | float | None],
        *,
        topic: str | None = None,
        broker: int | None = None,
        dry_run: bool = False,
    ) -> None:
        """Sets settings, or takes those that are None back to their defaults: all, or none.

        Raises:
            TopicNotFound: There is no such topic.
            BrokerError: A setting does not fit; the message names it.
        """
        await answered(
            self._core.set_settings, changes, topic=topic, broker=broker, dry_run=dry_run
        )

    async def groups(self) -> list[str]:
        """The names of all groups."""
        return await answered(self._core.groups)

    def group(self, name: str) -> "Group":
        """The group of this name; no broker is asked yet."""
        return Group(self._core.group(name))

    async def cluster(self) -> ClusterDescription:
        """The cluster and its brokers."""
        return await answered(self._core.cluster)


class Group:
    """A group of consumers, seen from outside: what ``streamlog.Group`` has, awaited."""

    def __init__(self, core: _core.admin.Group) -> None:
        """Admin.group makes it."""
        self._core = core

    @property
    def name(self) -> str:
        """Its name."""
        return self._core.name

    async def describe(self) -> GroupDescription:
        """Its state and its members.

        Raises:
            BrokerError: There is no such group.
        """
        return await answered(self._core.describe)

    async def committed(self) -> dict[tuple[str, int], int]:
        """The offsets it has stored, by topic and partition; none if there is no such group."""
        return await answered(self._core.committed)

    async def lag(self) -> dict[tuple[str, int], int]:
        """How many offsets lie before it in each partition of the topics that it reads."""
        return await answered(self._core.lag)

    async def commit(self, offsets: Mapping[tuple[str, int], int]) -> None:
        """Stores offsets for the group, by topic and partition, while nobody is in it.

        Raises:
            BrokerError: The group has members: they store their own.
            ConfigError: A topic's name does not fit, or an offset is negative.
        """
        await answered(self._core.commit, offsets)

    async def reset(
        self, topics: str | Sequence[str], *, to: Start, dry_run: bool = False
    ) -> list[OffsetChange]:
        """Lets the group go on elsewhere, while nobody is in it, and tells what that changes.

        Raises:
            TopicNotFound: There is no such topic.
            BrokerError: The group has members: they would go on where they are.
        """
        return await answered(self._core.reset, topics, to=to, dry_run=dry_run)

    async def delete(self, *, missing_ok: bool = False) -> None:
        """Deletes the group with its offsets, while nobody is in it.

        Raises:
            BrokerError: It has members, or there is none and that is not fine.
        """
        await answered(self._core.delete, missing_ok=missing_ok)

    def __repr__(self) -> str:
        """The class and the name."""
        return f"Group({self.name!r})"
