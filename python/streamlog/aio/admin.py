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
    """Administration of a cluster: ``streamlog.Admin`` with awaitable calls.

    Example:
        >>> await client.admin.create_topic("events", partitions=6)
        >>> sorted(await client.admin.topics())
        ['events', 'orders']
    """

    def __init__(self, core: _core.admin.Admin) -> None:
        """Created by ``Client.admin``."""
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
            TopicExists: The topic exists already, and ``exist_ok`` is false.
            ConfigError: The name or an option is invalid.
            BrokerError: The broker refused the request.
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
            TopicNotFound: The topic does not exist, and ``missing_ok`` is false.
        """
        await answered(self._core.delete_topic, name, missing_ok=missing_ok)

    async def topics(self, *, internal: bool = False) -> list[str]:
        """Returns the names of all topics, with internal topics only if ``internal`` is true."""
        return await answered(self._core.topics, internal=internal)

    async def topic(self, name: str) -> TopicDescription:
        """Returns a description of the topic and its partitions.

        Raises:
            TopicNotFound: There is no such topic.
        """
        return await answered(self._core.topic, name)

    async def set_partitions(self, name: str, partitions: int) -> None:
        """Increases the number of partitions of a topic to this total.

        Raises:
            TopicNotFound: There is no such topic.
            BrokerError: It already has as many partitions, or more.
        """
        await answered(self._core.set_partitions, name, partitions)

    async def begin_offsets(self, topic: str) -> dict[int, int | None]:
        """Returns the first offset of each partition.

        Raises:
            TopicNotFound: There is no such topic.
        """
        return await answered(self._core.begin_offsets, topic)

    async def end_offsets(self, topic: str) -> dict[int, int | None]:
        """Returns the offset after the last record of each partition.

        Raises:
            TopicNotFound: There is no such topic.
        """
        return await answered(self._core.end_offsets, topic)

    async def offsets_at(self, topic: str, time: datetime | timedelta) -> dict[int, int | None]:
        """Returns for each partition the first offset at or after a time, None if there is none.

        Raises:
            TopicNotFound: There is no such topic.
            ConfigError: The time has no time zone.
        """
        return await answered(self._core.offsets_at, topic, time)

    async def delete_records(self, topic: str, partition: int, before: int) -> int:
        """Deletes the records below an offset, and returns the new first offset.

        Raises:
            TopicNotFound: There is no such partition.
            BrokerError: The offset is beyond the end of the log.
        """
        return await answered(self._core.delete_records, topic, partition, before)

    async def settings(
        self, *, topic: str | None = None, broker: int | None = None
    ) -> dict[str, Setting]:
        """Returns the settings of a topic, of a broker, or of all brokers, by name.

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
        """Changes settings; None resets one to its default. Applies all changes or none.

        Raises:
            TopicNotFound: There is no such topic.
            BrokerError: A setting is invalid; the message names it.
        """
        await answered(
            self._core.set_settings, changes, topic=topic, broker=broker, dry_run=dry_run
        )

    async def groups(self) -> list[str]:
        """Returns the names of all groups."""
        return await answered(self._core.groups)

    def group(self, name: str) -> "Group":
        """Returns the group of this name, without contacting a broker."""
        return Group(self._core.group(name))

    async def cluster(self) -> ClusterDescription:
        """Returns a description of the cluster and its brokers."""
        return await answered(self._core.cluster)


class Group:
    """Administration of a consumer group: ``streamlog.Group`` with awaitable calls."""

    def __init__(self, core: _core.admin.Group) -> None:
        """Created by ``Admin.group``."""
        self._core = core

    @property
    def name(self) -> str:
        """Its name."""
        return self._core.name

    async def describe(self) -> GroupDescription:
        """Returns its state and its members.

        Raises:
            BrokerError: There is no such group.
        """
        return await answered(self._core.describe)

    async def committed(self) -> dict[tuple[str, int], int]:
        """Returns its committed offsets by topic and partition; none if there is no such group."""
        return await answered(self._core.committed)

    async def lag(self) -> dict[tuple[str, int], int]:
        """Returns its lag, the number of offsets before the end, for each partition it reads."""
        return await answered(self._core.lag)

    async def commit(self, offsets: Mapping[tuple[str, int], int]) -> None:
        """Commits offsets for a group without members, by topic and partition.

        Raises:
            BrokerError: The group has members, which commit their own offsets.
            ConfigError: A topic's name is invalid, or an offset is negative.
        """
        await answered(self._core.commit, offsets)

    async def reset(
        self, topics: str | Sequence[str], *, to: Start, dry_run: bool = False
    ) -> list[OffsetChange]:
        """Resets the offsets of a group without members, and returns the changes.

        Raises:
            TopicNotFound: There is no such topic.
            BrokerError: The group has members, which would overwrite the offsets.
        """
        return await answered(self._core.reset, topics, to=to, dry_run=dry_run)

    async def delete(self, *, missing_ok: bool = False) -> None:
        """Deletes a group without members, with its offsets.

        Raises:
            BrokerError: It has members, or does not exist and ``missing_ok`` is false.
        """
        await answered(self._core.delete, missing_ok=missing_ok)

    def __repr__(self) -> str:
        """The class and the name."""
        return f"Group({self.name!r})"
