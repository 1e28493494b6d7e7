"""Consumers, messages, and what a topic's logs hold."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final, Self, TypeAlias, final

__all__ = [
    "Bounded",
    "Consumer",
    "Message",
    "Topic",
    "UntilEnd",
]

_Start: TypeAlias = str | int | datetime | timedelta

@final
class Message:
    """A record as it was read. It cannot be changed."""

    __match_args__: Final = (
        "topic",
        "partition",
        "offset",
        "timestamp",
        "key",
        "value",
        "headers",
    )

    def __new__(cls, state: tuple[Any, ...]) -> Self:
        """Only unpickling calls it."""

    @property
    def topic(self) -> str:
        """Its topic."""

    @property
    def partition(self) -> int:
        """Its partition."""

    @property
    def offset(self) -> int:
        """Its place in the partition."""

    @property
    def timestamp(self) -> datetime | None:
        """Its time, in UTC."""

    @property
    def timestamp_ms(self) -> int:
        """Its time in milliseconds since 1970; -1 if it has none."""

    @property
    def key(self) -> bytes | None:
        """Its key."""

    @property
    def value(self) -> bytes | None:
        """Its value; None is a tombstone."""

    @property
    def headers(self) -> tuple[tuple[str, bytes | None], ...]:
        """Its headers in order; a name may occur twice."""

    def __eq__(self, other: object, /) -> bool:
        """Whether all of it is equal."""

    def __hash__(self) -> int:
        """Equal ones have one hash."""

    def __getnewargs__(self) -> tuple[Any]:
        """What it is made of."""

@final
class Consumer:
    """Reads records: an iterator that waits for the next one and never ends by itself.

    ``close``, from any thread or a signal's handler, ends it. Several threads may take from it.
    """

    def __iter__(self) -> Self:
        """The consumer itself."""

    def __next__(self) -> Message:
        """The next message.

        Raises:
            StopIteration: The consumer was closed.
            OffsetOutOfRange: The log does not have the position, with ``out_of_range="none"``.
        """

    def take(self, count: int, *, timeout: float | None = None) -> Bounded:
        """Iterates over at most ``count`` messages, for at most ``timeout`` seconds from now."""

    def until_end(self) -> UntilEnd:
        """Iterates up to the ends that the partitions have now."""

    def seek(self, to: _Start | Mapping[int, _Start] | Mapping[tuple[str, int], _Start]) -> None:
        """Goes on elsewhere: in all partitions, or in those that a mapping names.

        Args:
            to: An end of the log, an offset, a time, a timedelta from now, or a mapping to these
                from partitions, or from pairs of topic and partition.

        Raises:
            ConfigError: The consumer does not read such a partition.
        """

    def positions(self) -> dict[tuple[str, int], int | None]:
        """The offset read next, by topic and partition; None until it is known."""

    def lag(self) -> dict[tuple[str, int], int | None]:
        """Records between position and end by the last answers; None until both are known."""

    def assignment(self) -> list[tuple[str, int]]:
        """The topics and partitions that it reads."""

    def commit(self, message: Message | None = None) -> None:
        """Stores for the group that all up to this message is done, or all that was given out.

        Raises:
            BrokerError: The partition is no longer this member's, or there is no group.
        """

    def close(self) -> None:
        """Ends reading, for all threads; a member leaves its group. Again does nothing."""

    def __enter__(self) -> Self:
        """The consumer itself."""

    def __exit__(self, _kind: object, _error: object, _trace: object, /) -> None:
        """Closes it."""

@final
class Bounded:
    """Iterates over so many messages of a consumer, for so long."""

    def __iter__(self) -> Self:
        """The iterator itself."""

    def __next__(self) -> Message:
        """The next message."""

@final
class UntilEnd:
    """Iterates over the messages of a consumer up to ends that are fixed."""

    def __iter__(self) -> Self:
        """The iterator itself."""

    def __next__(self) -> Message:
        """The next message."""

@final
class Topic:
    """A topic, and where its logs begin and end."""

    @property
    def name(self) -> str:
        """Its name."""

    def partitions(self) -> int:
        """How many partitions it has.

        Raises:
            TopicNotFound: There is no such topic.
        """

    def begin_offsets(self) -> dict[int, int | None]:
        """The first offset of each partition."""

    def end_offsets(self) -> dict[int, int | None]:
        """The offset after the last record of each partition."""

    def offsets_at(self, time: datetime | timedelta) -> dict[int, int | None]:
        """The first offset of that time or later, of each partition; None where there is none."""
