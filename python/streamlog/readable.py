"""Reading the existing messages of a topic or a partition, in either direction."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, TypeAlias, TypeVar, overload

from streamlog._core.reading import Message
from streamlog.arguments.counts import limited
from streamlog.backwards import Decoders
from streamlog.errors import ConfigError

__all__ = ["Decoder", "Place", "Readable", "checked_place"]

_T = TypeVar("_T")

Decoder: TypeAlias = Callable[[bytes], _T]
"""Decodes the bytes of a key or a value."""

Place: TypeAlias = int | str | datetime | timedelta
"""An offset, a time, also as a text, or a timedelta relative to now. A negative number counts
messages from the end."""

_LAST_OFFSET = 2**63 - 1


class Readable(ABC):
    """The existing messages of a topic or a partition."""

    @overload
    def read(
        self,
        start: Place | None = None,
        stop: Place | None = None,
        *,
        limit: int | None = None,
        key: Decoder[Any] | None = None,
        value: None = None,
    ) -> Iterator[Message]: ...
    @overload
    def read(
        self,
        start: Place | None = None,
        stop: Place | None = None,
        *,
        limit: int | None = None,
        key: Decoder[Any] | None = None,
        value: Decoder[_T],
    ) -> Iterator[Message[_T | None]]: ...
    def read(
        self,
        start: Place | None = None,
        stop: Place | None = None,
        *,
        limit: int | None = None,
        key: Decoder[Any] | None = None,
        value: Decoder[Any] | None = None,
    ) -> Iterator[Message[Any]]:
        """Iterates over the existing messages from `start` to before `stop`, the oldest first.

        The partitions of a topic are interleaved as they are fetched.

        Args:
            start: The first position in each partition: an offset, an aware datetime, a time as
                ``"2026-11-01T08:00Z"``, or a timedelta from now; the first message if omitted. A
                negative number reads that many of the last messages: of a topic over all
                partitions, in the order of their timestamps.
            stop: The end, excluded, in the same form; the current end if omitted, and never beyond
                it. It may be negative for a partition only.
            limit: The maximal number of messages.
            key: Decodes the keys, as for ``Client.consumer``.
            value: Decodes the values; tombstones stay None.

        Raises:
            DecodeError: A key or a value cannot be decoded; the next call returns the next message.
            TopicNotFound: There is no such topic or partition.
            ConfigError: The time has no time zone.

        Example:
            >>> [message.offset for message in client.topic("orders").read(start=1, limit=1)]
            [1]
            >>> [message.offset for message in client.topic("orders").partition(0).read(1, 3)]
            [1, 2]
            >>> next(client.topic("orders").read(value=json.loads)).value
            {'id': 0}
        """
        return limited(self._read(start, stop, (key, value)), limit)

    @overload
    def reversed(
        self,
        start: Place | None = None,
        stop: Place | None = None,
        *,
        limit: int | None = None,
        key: Decoder[Any] | None = None,
        value: None = None,
    ) -> Iterator[Message]: ...
    @overload
    def reversed(
        self,
        start: Place | None = None,
        stop: Place | None = None,
        *,
        limit: int | None = None,
        key: Decoder[Any] | None = None,
        value: Decoder[_T],
    ) -> Iterator[Message[_T | None]]: ...
    def reversed(
        self,
        start: Place | None = None,
        stop: Place | None = None,
        *,
        limit: int | None = None,
        key: Decoder[Any] | None = None,
        value: Decoder[Any] | None = None,
    ) -> Iterator[Message[Any]]:
        """Iterates over the messages from `start` to before `stop`, the newest first.

        Takes the arguments of ``read``. The partitions of a topic are merged by timestamp.

        Raises:
            TopicNotFound: There is no such topic or partition.
            ConfigError: The time has no time zone.

        Example:
            >>> [message.offset for message in client.topic("orders").reversed()]
            [2, 1, 0]
            >>> next(client.topic("orders").partition(0).reversed(limit=1)).offset
            2
        """
        return limited(self._reversed(start, stop, (key, value)), limit)

    def __iter__(self) -> Iterator[Message]:
        """Iterates over all messages up to the current end."""
        return self.read()

    @abstractmethod
    def _read(
        self, start: Place | None, stop: Place | None, decoders: Decoders
    ) -> Iterator[Message[Any]]:
        """Iterates over the messages, the oldest first."""

    @abstractmethod
    def _reversed(
        self, start: Place | None, stop: Place | None, decoders: Decoders
    ) -> Iterator[Message[Any]]:
        """Iterates over the messages, the newest first."""


def checked_place(place: object) -> int | datetime | timedelta:
    """Returns `place` as an offset or a time; a text is a time in ISO 8601.

    Raises:
        ConfigError: It is neither.
    """
    if isinstance(place, str):
        with suppress(ValueError):
            return datetime.fromisoformat(place)
    if isinstance(place, datetime | timedelta):
        return place
    if isinstance(place, int) and abs(place) <= _LAST_OFFSET:
        return place
    message = f"{place!r} is no place in a topic: expected an offset, an aware datetime, a time as "
    message += "'2026-11-01T08:00Z', or a timedelta; leave it out for the beginning or the end"
    raise ConfigError(message)
