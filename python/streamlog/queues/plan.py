"""The topics of a work queue, and the schedule of its retries.

Every delay has its own retry topic, in which messages become due in the order of their offsets, so
that no message waits behind one that is due later. Headers carry all other state: brokers need no
support for queues.
"""

import math
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from streamlog._core.reading import Message
from streamlog.arguments.counts import checked
from streamlog.errors import ConfigError

__all__ = ["Letter", "Plan", "deliveries", "origin", "seconds_until_due"]

_TOPIC_NAME = re.compile(r"[A-Za-z0-9._-]+")
_TOPIC_NAME_MAX = 249
_DELIVERIES = "streamlog-deliveries"
_DUE = "streamlog-due"
_TOPIC = "streamlog-topic"
_PARTITION = "streamlog-partition"
_OFFSET = "streamlog-offset"
_ERROR = "streamlog-error"
_OWN = (_DELIVERIES, _DUE, _TOPIC, _PARTITION, _OFFSET, _ERROR)


@dataclass(frozen=True, slots=True)
class Letter:
    """A message to be published again, for a retry or as a dead letter."""

    topic: str
    headers: list[tuple[str, bytes | None]]


@dataclass(frozen=True, slots=True)
class Plan:
    """The delays and topics of one group's queue."""

    group: str
    backoff: tuple[float, ...]
    """Seconds before the second delivery, the third and so on; the last value is repeated."""
    max_deliveries: int

    @classmethod
    def of(cls, group: str, backoff: Sequence[float], max_deliveries: int) -> "Plan":
        """Validates the arguments of a queue.

        Raises:
            ConfigError: The group has no name, or a number is invalid.
        """
        if not group.strip():
            raise ConfigError("group: the name is empty, and a queue is worked on by a group")
        if not backoff or not all(_is_delay(delay) for delay in backoff):
            expected = "seconds, each positive and not less than the one before"
            raise ConfigError(f"backoff: invalid value {backoff!r}: expected {expected}")
        if any(later < delay for delay, later in pairwise(backoff)):
            raise ConfigError(
                f"backoff: invalid value {backoff!r}: a delay is less than the one before"
            )
        if checked("max_deliveries", max_deliveries) < 1:
            raise ConfigError("max_deliveries: a message is delivered at least once")
        plan = cls(group, tuple(map(float, backoff)), max_deliveries)
        plan._check_names()
        return plan

    @property
    def dead_letters(self) -> str:
        """The topic of rejected messages."""
        return f"{self.group}.dead"

    @property
    def retry_topics(self) -> list[str]:
        """The topics of messages that wait for a retry, one for each delay."""
        return list(dict.fromkeys(map(self._retry_topic, self.backoff)))

    def again(self, message: Message[Any, Any], delay: float | None, reason: str) -> Letter:
        """Returns the message for its retry, or as a dead letter after the last delivery.

        Raises:
            ConfigError: The delay is longer than the longest delay of the queue.
        """
        count = deliveries(message)
        if count >= self.max_deliveries:
            return self.dead(message, reason or f"not done after {count} deliveries")
        step = self._step(count, delay)
        due_ms = math.ceil((time.time() + step) * 1000)
        own = [(_DELIVERIES, b"%d" % (count + 1)), (_DUE, b"%d" % due_ms)]
        return Letter(self._retry_topic(step), _headers(message, own, reason))

    def dead(self, message: Message[Any, Any], reason: str) -> Letter:
        """Returns the message as a dead letter."""
        own = [(_DELIVERIES, b"%d" % deliveries(message))]
        return Letter(self.dead_letters, _headers(message, own, reason))

    def _check_names(self) -> None:
        """Raises an error that names the group, whose topics the caller has not named.

        Raises:
            ConfigError: The group's name cannot be that of topics.
        """
        longest = max(map(len, [*self.retry_topics, self.dead_letters]))
        if not _TOPIC_NAME.fullmatch(self.group) or longest > _TOPIC_NAME_MAX:
            most = _TOPIC_NAME_MAX - longest + len(self.group)
            expected = f"at most {most} ASCII letters, digits, '.', '_' and '-'"
            reason = "as the topics of a work queue are named after its group"
            raise ConfigError(f"group: invalid value {self.group!r}: expected {expected}, {reason}")

    def _step(self, count: int, delay: float | None) -> float:
        if delay is None:
            return self.backoff[min(count, len(self.backoff)) - 1]
        fitting = [step for step in self.backoff if step >= delay]
        if not fitting or not math.isfinite(delay):
            longest = f"the longest of backoff= is {self.backoff[-1]:g} s"
            raise ConfigError(f"delay: invalid value {delay!r}: {longest}")
        return fitting[0]

    def _retry_topic(self, delay: float) -> str:
        return f"{self.group}.retry.{delay:g}s"


def deliveries(message: Message[Any, Any]) -> int:
    """Returns the number of deliveries of the message, including this one."""
    return max(1, _number(message, _DELIVERIES, 1))


def origin(message: Message[Any, Any]) -> tuple[str, int, int]:
    """Returns the topic, partition and offset of the original message."""
    topic = message.header(_TOPIC)
    if topic is None:
        return (message.topic, message.partition, message.offset)
    return (topic.decode(), _number(message, _PARTITION, 0), _number(message, _OFFSET, 0))


def seconds_until_due(message: Message[Any, Any]) -> float:
    """Returns the seconds until the message is due; negative or 0 if it is due."""
    due_ms = _number(message, _DUE, 0)
    return due_ms / 1000 - time.time() if due_ms else 0.0


def _headers(
    message: Message[Any, Any], own: list[tuple[str, bytes]], reason: str
) -> list[tuple[str, bytes | None]]:
    topic, partition, offset = origin(message)
    own = [*own, (_TOPIC, topic.encode()), (_PARTITION, b"%d" % partition)]
    own.append((_OFFSET, b"%d" % offset))
    if reason:
        own.append((_ERROR, reason.encode()))
    theirs = [(name, value) for name, value in message.headers if name not in _OWN]
    return [*theirs, *own]


def _number(message: Message[Any, Any], name: str, default: int) -> int:
    try:
        return int(message.header(name) or b"")
    except ValueError:
        return default


def _is_delay(delay: object) -> bool:
    return isinstance(delay, int | float) and math.isfinite(delay) and delay > 0
