"""Partitions of a work queue that are paused until their next message is due."""

from collections.abc import Mapping
from typing import Any, Protocol

from streamlog._core.reading import Message
from streamlog.errors import ConfigError

__all__ = ["EARLY_SECONDS", "PausedPartitions"]

EARLY_SECONDS = 0.005
"""The tolerance of timers: if a wait ends earlier by more than this, the program has ended it."""

_Partition = tuple[str, int]


class _Consumer(Protocol):
    """The consumer of a queue, for threads or for asyncio."""

    def pause(self, partitions: _Partition, /) -> None:
        """Pauses a partition."""

    def resume(self, partitions: _Partition, /) -> None:
        """Resumes a partition."""

    def seek(self, to: Mapping[_Partition, int], /) -> None:
        """Moves the position in a partition."""


class PausedPartitions:
    """The paused partitions of a consumer. Times are those of the monotonic clock."""

    def __init__(self, consumer: _Consumer) -> None:
        """Starts without paused partitions."""
        self._consumer = consumer
        self._due: dict[_Partition, float] = {}

    def next_due(self) -> float | None:
        """Returns the time at which the next partition is to be resumed; None if none is paused."""
        return min(self._due.values(), default=None)

    def pause(self, message: Message[Any, Any], due: float) -> None:
        """Pauses the partition until `message` is due; messages at later offsets are due later."""
        partition = (message.topic, message.partition)
        try:
            self._consumer.pause(partition)
            self._consumer.seek({partition: message.offset})
        except ConfigError:
            # The partition was reassigned meanwhile; its new member reads the message.
            return
        self._due[partition] = due

    def resume(self, now: float) -> None:
        """Resumes the partitions whose next message is due."""
        for partition in [partition for partition, due in self._due.items() if due <= now]:
            del self._due[partition]
            try:
                self._consumer.resume(partition)
            except ConfigError:
                # The partition was reassigned meanwhile.
                continue
