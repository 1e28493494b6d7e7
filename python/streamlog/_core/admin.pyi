"""Administration."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import final

__all__ = [
    "Admin",
]

@final
class Admin:
    """Administration of a cluster."""

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
        """

    def delete_topic(self, name: str, *, missing_ok: bool = False) -> None:
        """Deletes a topic.

        Raises:
            TopicNotFound: There is none, and that is not fine.
        """

    def topics(self, *, internal: bool = False) -> list[str]:
        """The names of all topics; those that brokers keep for themselves only when asked for."""

    def begin_offsets(self, topic: str) -> dict[int, int | None]:
        """The first offset of each partition.

        Raises:
            TopicNotFound: There is no such topic.
        """

    def end_offsets(self, topic: str) -> dict[int, int | None]:
        """The offset after the last record of each partition.

        Raises:
            TopicNotFound: There is no such topic.
        """

    def offsets_at(self, topic: str, time: datetime | timedelta) -> dict[int, int | None]:
        """The first offset of that time or later, of each partition; None where there is none.

        Raises:
            TopicNotFound: There is no such topic.
            ConfigError: The time has no time zone.
        """
