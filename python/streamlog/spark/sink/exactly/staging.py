"""Staging topics: where the rows of a query wait to be published, one for each target."""

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
    # What is staged is deleted when it has been published, and by nothing else: records may bear
    # any time.
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "segment.bytes": str(_SEGMENT_BYTES),
}
_WHERE_KNOWN = {"write.caching": "false"}
"""Settings that only streamlog's brokers have: what is staged is never lost to a power cut."""
_NOT_TAKEN = ("offset.unit", "flush.messages", "flush.ms", "flush.on.demand")


@dataclass(frozen=True)
class Target:
    """What a task has to know of a topic that its rows go to."""

    staged: str
    """The topic where they are staged."""
    needs_keys: bool
    """Whether the topic refuses records without a key."""


def staging_topic(query: str, target: str) -> str:
    """The name of the topic where a query stages what goes to the target.

    Example:
        >>> staging_topic("4c1f", "orders")
        '__streamlog_staged.4c1f.orders'
    """
    name = f"{_PREFIX}{query}.{target}"
    if len(name) <= _NAME_MAX:
        return name
    return f"{_PREFIX}{query}.{hashlib.sha256(target.encode()).hexdigest()}"


def staged_by(topic: str) -> str | None:
    """The query that a staging topic is of; none if the topic is no staging topic.

    Example:
        >>> staged_by("__streamlog_staged.4c1f.orders")
        '4c1f'
    """
    if not topic.startswith(_PREFIX):
        return None
    # Spark's ids have no dot.
    return topic.removeprefix(_PREFIX).partition(".")[0]


def prepared(client: streamlog.Client, query: str, target: str) -> Target:
    """Makes sure that there is a staging topic like the target, with as many partitions.

    Raises:
        TopicNotFound: There is no target. It is not made here: who reads it has to know of it.
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
        # Another task may have made it, for fewer.
        found = client.admin.topic(staged)
    if len(found.partitions) < len(partitions):
        _grow(client, staged, len(partitions))
    _keep_up(client, staged, _text(settings, "max.message.bytes"))
    return Target(
        staged=staged,
        needs_keys="compact" in _text(settings, "cleanup.policy"),
    )


def _like(settings: Mapping[str, Setting]) -> dict[str, str]:
    """What the target's topic was told, but for how records are kept."""
    told = {
        name: one.value
        for name, one in settings.items()
        if one.source == "topic" and one.value is not None and name not in _NOT_TAKEN
    }
    known = {name: value for name, value in _WHERE_KNOWN.items() if name in settings}
    segment = max(_SEGMENT_BYTES, int(_text(settings, "max.message.bytes")))
    return told | _OWN | known | {"segment.bytes": str(segment)}


def _grow(client: streamlog.Client, staged: str, partitions: int) -> None:
    """The staging topic gets the partitions that its target has got."""
    try:
        client.admin.set_partitions(staged, partitions)
    except BrokerError:
        # Another task was quicker.
        if len(client.admin.topic(staged).partitions) < partitions:
            raise


def _keep_up(client: streamlog.Client, staged: str, largest: str) -> None:
    """The staging topic takes batches as large as its target does."""
    if _text(client.admin.settings(topic=staged), "max.message.bytes") != largest:
        client.admin.set_settings({"max.message.bytes": largest}, topic=staged)


def _text(settings: Mapping[str, Setting], name: str) -> str:
    return settings[name].value or ""
