"""Staging topics: one for each query and target, for rows that wait to be published."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import streamlog
from streamlog.descriptions import Setting
from streamlog.errors import BrokerError, TopicNotFound

__all__ = ["Target", "prepared", "staged_by", "staging_topic"]

_PREFIX = "__streamlog_staged."
_NAME_MAX = 249
_SEGMENT_BYTES = 32 << 20

_OWN = {
    "cleanup.policy": "delete",
    "compression.type": "producer",
    "message.timestamp.type": "CreateTime",
    # Staged records are deleted explicitly after their publication. Retention must not delete
    # them, because they may have any timestamp.
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "segment.bytes": str(_SEGMENT_BYTES),
}
_WHERE_KNOWN = {"write.caching": "false"}
"""Settings of streamlog's brokers only, so that a power cut cannot lose staged records."""
_NOT_TAKEN = ("offset.unit", "flush.messages", "flush.ms", "flush.on.demand")


@dataclass(frozen=True)
class Target:
    """The properties of a target topic that a task needs."""

    staged: str
    """Its staging topic."""
    needs_keys: bool
    """True if the topic refuses records without a key."""


def staging_topic(query: str, target: str) -> str:
    """Returns the name of the staging topic of a query for a target.

    Example:
        >>> staging_topic("4c1f", "orders")
        '__streamlog_staged.4c1f.orders'
    """
    name = f"{_PREFIX}{query}.{target}"
    if len(name) <= _NAME_MAX:
        return name
    return f"{_PREFIX}{query}.{hashlib.sha256(target.encode()).hexdigest()}"


def staged_by(topic: str) -> str | None:
    """Returns the query of a staging topic; None for other topics.

    Example:
        >>> staged_by("__streamlog_staged.4c1f.orders")
        '4c1f'
    """
    if not topic.startswith(_PREFIX):
        return None
    # Spark's ids contain no dot.
    return topic.removeprefix(_PREFIX).partition(".")[0]


def prepared(client: streamlog.Client, query: str, target: str) -> Target:
    """Ensures that the target has a staging topic with at least as many partitions.

    Raises:
        TopicNotFound: The target does not exist. It is not created: its readers rely on it.
    """
    try:
        partitions = client.admin.topic(target).partitions
    except TopicNotFound as error:
        raise TopicNotFound(f"{error}; exactlyOnce writes to topics that are there") from error
    settings = client.admin.settings(topic=target)
    staged = staging_topic(query, target)
    try:
        found = client.admin.topic(staged)
    except TopicNotFound:
        client.admin.create_topic(
            staged,
            partitions=len(partitions),
            replicas=max(len(row.replicas) for row in partitions),
            config=_like(settings),
            exist_ok=True,
        )
        # Another task may have created it, with fewer partitions.
        found = client.admin.topic(staged)
    if len(found.partitions) < len(partitions):
        _grow(client, staged, len(partitions))
    _keep_up(client, staged, _text(settings, "max.message.bytes"))
    return Target(
        staged=staged,
        needs_keys="compact" in _text(settings, "cleanup.policy"),
    )


def _like(settings: Mapping[str, Setting]) -> dict[str, str]:
    """Returns the target's own settings, except settings of retention and flushing."""
    told = {
        name: one.value
        for name, one in settings.items()
        if one.source == "topic" and one.value is not None and name not in _NOT_TAKEN
    }
    known = {name: value for name, value in _WHERE_KNOWN.items() if name in settings}
    segment = max(_SEGMENT_BYTES, int(_text(settings, "max.message.bytes")))
    return told | _OWN | known | {"segment.bytes": str(segment)}


def _grow(client: streamlog.Client, staged: str, partitions: int) -> None:
    """Adds partitions that were added to the target."""
    try:
        client.admin.set_partitions(staged, partitions)
    except BrokerError:
        # Another task may have added them first.
        if len(client.admin.topic(staged).partitions) < partitions:
            raise


def _keep_up(client: streamlog.Client, staged: str, largest: str) -> None:
    """Sets the batch size limit to that of the target."""
    if _text(client.admin.settings(topic=staged), "max.message.bytes") != largest:
        client.admin.set_settings({"max.message.bytes": largest}, topic=staged)


def _text(settings: Mapping[str, Setting], name: str) -> str:
    return settings[name].value or ""
