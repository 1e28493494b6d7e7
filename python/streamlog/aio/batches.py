"""Batches of messages."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self, overload

from streamlog._core.aio import Reader
from streamlog._core.reading import Message
from streamlog.aio.messages import K, Typed, V

if TYPE_CHECKING:
    from streamlog.aio.consumer import Consumer

__all__ = ["Batch", "Batches"]


class Batch(Sequence[Message[V, K]]):
    """Messages delivered together, in the order of each partition."""

    def __init__(self, reader: Reader[Any], messages: list[Message[V, K]]) -> None:
        """Created by a consumer."""
        self._reader = reader
        self._messages = messages

    @property
    def messages(self) -> list[Message[V, K]]:
        """The messages."""
        return list(self._messages)

    async def commit(self) -> None:
        """Commits this batch, and all messages before it, for the group.

        Raises:
            BrokerError: A partition is no longer assigned to this member.
            ConfigError: The consumer has no group.
        """
        await self._reader.commit(self._messages)

    def __len__(self) -> int:
        """The number of messages."""
        return len(self._messages)

    @overload
    def __getitem__(self, index: int) -> Message[V, K]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message[V, K]]: ...
    def __getitem__(self, index: int | slice) -> Message[V, K] | Sequence[Message[V, K]]:
        """A message, or a slice of the messages."""
        return self._messages[index]

    def __iter__(self) -> Iterator[Message[V, K]]:
        """Iterates over its messages."""
        return iter(self._messages)

    def __repr__(self) -> str:
        """The number of messages."""
        return f"<Batch of {len(self)} messages>"


class Batches(Typed[V, K]):
    """Iterates over batches of a consumer's messages."""

    def __init__(self, consumer: Consumer[V, K], max_messages: int, max_wait: float | None) -> None:
        """Collects up to `max_messages` messages for up to `max_wait` seconds."""
        self._consumer = consumer
        self._max_messages = max_messages
        self._max_wait = max_wait

    def __aiter__(self) -> Self:
        """The iterator itself."""
        return self

    async def __anext__(self) -> Batch[V, K]:
        """Returns the next batch. If the call is cancelled, its messages are read again.

        Raises:
            DecodeError: A value cannot be decoded; the previous batch has the messages before it,
                and the next call returns the messages after it.
        """
        messages = [await anext(self._consumer)]
        reader = self._consumer._open_reader()
        deadline = None
        if self._max_wait is not None:
            deadline = asyncio.get_running_loop().time() + self._max_wait
        try:
            while len(messages) < self._max_messages:
                messages += reader.take_more(self._max_messages - len(messages))
                is_full = len(messages) == self._max_messages
                if is_full or reader.is_over or not await self._consumer.wait_until(deadline):
                    break
        except BaseException as error:
            # If a dead letter cannot be published, return the batch: the undecodable message is
            # held, and the next call publishes its letter again.
            if not (isinstance(error, Exception) and reader.is_over):
                self._consumer._give_back(messages)
                raise
        return Batch(reader, messages)
