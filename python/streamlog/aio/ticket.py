"""Delivery tickets."""

import asyncio
from collections.abc import Generator
from typing import Any

from streamlog._core import producing
from streamlog._core.aio import Outbox
from streamlog._core.producing import RecordMetadata
from streamlog.aio.waiting import within

__all__ = ["Ticket"]


class Ticket:
    """The pending delivery of a record. Await it for the record's position, or its error.

    Example:
        >>> async with client.producer() as producer:
        ...     await producer.send("orders", b"payload")
        RecordMetadata("orders", partition=0, offset=3)
    """

    __slots__ = ("_core", "_handing", "_outbox", "is_seen")

    def __init__(
        self,
        outbox: Outbox,
        handed: "producing.Ticket | None",
        handing: "asyncio.Future[producing.Ticket] | None" = None,
    ) -> None:
        """Created by a producer."""
        self._outbox = outbox
        self._core = handed
        self._handing = handing
        self.is_seen = False

    def __await__(self) -> Generator[Any, None, RecordMetadata]:
        """Waits until the record is delivered.

        Raises:
            StreamlogError: The record was not delivered, for this reason.
        """
        return self.result().__await__()

    async def result(self, timeout: float | None = None) -> RecordMetadata:
        """Waits until the record is delivered, and returns its position.

        Raises:
            RequestTimeout: It took longer than ``timeout`` seconds; delivery continues.
            StreamlogError: The record was not delivered, for this reason.
        """
        if timeout is None:
            ticket = await self._settled()
        else:
            ticket = await within(timeout, "delivering a record", self._settled())
        return ticket.result(0)

    async def exception(self, timeout: float | None = None) -> BaseException | None:
        """Waits until the outcome is known, and returns the delivery error or None.

        Raises:
            RequestTimeout: It took longer than ``timeout`` seconds; delivery continues.
        """
        try:
            ticket = await within(timeout, "delivering a record", self._settled())
        except Exception as error:
            if self._handing is not None and self._handing.done():
                return error
            raise
        return ticket.exception(0)

    def done(self) -> bool:
        """Returns true if the outcome is known."""
        if self._core is not None:
            return self._core.done()
        return self._handing is not None and self._handing.done() and self._is_failed()

    async def _settled(self) -> producing.Ticket:
        if self._core is None:
            assert self._handing is not None
            try:
                self._core = await asyncio.shield(self._handing)
            except Exception:
                # Only a caller that waited until the failure has seen its error.
                self.is_seen = True
                raise
        if not self._core.done():
            # Waiting sends the batch: let the records that other tasks send now join it.
            await asyncio.sleep(0)
            await self._outbox.settled(self._core)
        return self._core

    def _is_failed(self) -> bool:
        assert self._handing is not None
        if self._handing.cancelled() or self._handing.exception() is not None:
            return True
        self._core = self._handing.result()
        return self._core.done()
