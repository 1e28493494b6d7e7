"""Producers."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from datetime import datetime
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar, overload

from streamlog._core import producing
from streamlog._core.aio import Outbox, Prepared
from streamlog.aio.ticket import Ticket
from streamlog.aio.waiting import within
from streamlog.errors import Closed, DeliveryError, RequestTimeout, StreamlogError

__all__ = ["Producer"]

_T = TypeVar("_T")
_Made: TypeAlias = bytes | bytearray | str | None
_HeaderValue: TypeAlias = bytes | str | None
_Headers: TypeAlias = Mapping[str, _HeaderValue] | Iterable[tuple[str, _HeaderValue]]
_Sent = producing.Ticket
_Handing: TypeAlias = asyncio.Future[producing.Ticket]
_Failure: TypeAlias = tuple[str, int, int, Exception]
_Waiting: TypeAlias = tuple[Prepared, _Handing, Ticket]
"""A record that is not queued yet, the future of its native ticket, and its ticket."""

if TYPE_CHECKING:
    from typing import Generic

    from typing_extensions import TypeVar as DefaultingTypeVar

    _S = DefaultingTypeVar("_S", contravariant=True, default=bytes | bytearray)
    _KS = DefaultingTypeVar("_KS", contravariant=True, default=bytes | bytearray)

    class Sending(Generic[_S, _KS]):
        """A class with the types of values and keys that it sends."""
else:
    _S = TypeVar("_S", contravariant=True)
    _KS = TypeVar("_KS", contravariant=True)

    class Sending:
        """A class with the types of values and keys that it sends; only type checkers know them."""

        __class_getitem__ = classmethod(GenericAlias)


class Producer(Sending[_S, _KS]):
    """Publishes records.

    As a context manager it is closed at the end, which delivers all records or raises.
    """

    def __init__(self, outbox: Outbox) -> None:
        """Created by ``Client.producer``."""
        self._outbox = outbox
        self._waiting: deque[_Waiting] = deque()
        self._waiting_bytes = 0
        # Plain futures: a task could be cancelled by anyone, through asyncio.all_tasks().
        self._making_way: asyncio.Future[producing.Ticket | None] | None = None
        self._all_handed_over: asyncio.Future[None] | None = None
        self._failed: list[tuple[str, Ticket, Exception]] = []
        self._is_closed = False
        self._closing: asyncio.Future[None] | None = None

    def send(
        self,
        topic: str,
        value: _S | None,
        *,
        key: _KS | None = None,
        headers: _Headers | None = None,
        partition: int | None = None,
        timestamp: datetime | int | None = None,
    ) -> Ticket:
        """Queues a record at once; await the returned ticket to wait for the delivery.

        While the buffer is full, or the topic's metadata is missing, the record waits, and the
        delivery takes longer. A program that never awaits may have as many bytes waiting as the
        buffer holds.

        Raises:
            StreamlogError: The buffer is full, and as many bytes as it holds are waiting already.
            MessageTooLarge: The record is larger than ``max_request_size``.
            Closed: The producer was closed.

        Example:
            >>> async with client.producer() as producer:
            ...     placed = await producer.send("orders", b"payload", key=b"42")
            >>> placed.offset
            3
        """
        if self._is_closed:
            raise Closed("the producer is closed")
        # Records keep their order: a new record must not overtake waiting records.
        send = self._outbox.prepare if self._waiting else self._outbox.send
        sent = send(
            topic, value, key=key, headers=headers, partition=partition, timestamp=timestamp
        )
        return Ticket(self._outbox, sent) if isinstance(sent, _Sent) else self._wait_with(sent)

    @overload
    async def send_all(
        self,
        topic: str,
        items: Iterable[_S | None],
        *,
        key: Callable[[Any], _Made] | None = None,
        value: None = None,
    ) -> int: ...
    @overload
    async def send_all(
        self,
        topic: str,
        items: Iterable[_T],
        *,
        key: Callable[[_T], _Made] | None = None,
        value: Callable[[_T], _Made],
    ) -> int: ...
    async def send_all(
        self,
        topic: str,
        items: Iterable[Any],
        *,
        key: Callable[[Any], _Made] | None = None,
        value: Callable[[Any], _Made] | None = None,
    ) -> int:
        """Queues a record for each item, waiting for the buffer, and returns their number.

        Raises:
            StreamlogError: As for ``send``. Delivery errors are raised by ``flush``.

        Example:
            >>> async with client.producer() as producer:
            ...     await producer.send_all("orders", [b"3", b"4"])
            2
        """
        count = 0
        left = iter(items)
        while True:
            await self._handed_over()
            some, record, is_over = self._outbox.send_some(topic, left, key, value)
            count += some
            if record is not None:
                await self._hand_over(record)
                count += 1
            if is_over:
                return count
            await asyncio.sleep(0)

    async def flush(self, timeout: float | None = None) -> None:
        """Waits until all records sent before have been delivered, or have failed.

        Raises:
            DeliveryError: Records failed, and their tickets were not waited for.
            RequestTimeout: It took longer than ``timeout`` seconds.
        """
        await within(timeout, "flushing the producer", self._flush(self._outbox.flush))

    async def close(self, timeout: float | None = None) -> None:
        """Stops accepting records, and flushes. A second call waits for the end of the first.

        Raises:
            DeliveryError: Records failed, and their tickets were not waited for.
            RequestTimeout: It took longer than ``timeout`` seconds; undelivered records are
                dropped.
        """
        if self._is_closed:
            if self._closing is not None:
                # Unlike an await, this does not cancel the future with the caller.
                await asyncio.wait([self._closing], timeout=timeout)
            return
        self._is_closed = True
        self._closing = asyncio.get_running_loop().create_future()
        try:
            await within(timeout, "closing the producer", self._flush(self._outbox.close))
        except RequestTimeout as error:
            raise self._given_up(error) from error.__cause__
        finally:
            self.give_up()
            self._closing.set_result(None)

    def give_up(self) -> None:
        """Closes it without waiting: what is not delivered yet is dropped."""
        self._is_closed = True
        if self._making_way is not None:
            self._making_way.cancel()
        while self._waiting:
            self._settle_first(Closed("the producer was closed before it had room"))
        # At once, not by cancelling a wait: the loop drops cancelled waits later, in any order.
        self._outbox.give_up()

    async def __aenter__(self) -> Self:
        """The producer itself."""
        return self

    async def __aexit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Closes it; an error of the block propagates, with a note about delivery errors."""
        with noted(error, "producer"):
            await self.close()

    def _given_up(self, error: RequestTimeout) -> RequestTimeout:
        """Returns the error of closing it, with the number of records that are dropped."""
        records = len(self._waiting) + self._outbox.undelivered
        dropped = DeliveryError(f"{records} records were not delivered", [], records)
        return RequestTimeout(f"{error}: {dropped}", error.operation, error.elapsed, dropped)

    def _wait_with(self, record: Prepared) -> Ticket:
        if self._waiting_bytes + record.size > self._outbox.buffer and self._waiting:
            text = f"{self._waiting_bytes} bytes wait for room already: await what send returns"
            raise StreamlogError(f"{text}, or use send_all")
        handing: _Handing = asyncio.get_running_loop().create_future()
        ticket = Ticket(self._outbox, None, handing)
        self._waiting.append((record, handing, ticket))
        self._waiting_bytes += record.size
        if self._making_way is None:
            self._hand_waiting_over()
        return ticket

    def _hand_waiting_over(self) -> None:
        """Hands waiting records over, until one has to wait; goes on when it need not any more."""
        while self._waiting:
            record = self._waiting[0][0]
            try:
                handed = self._outbox.hand_over(record)
                way = self._outbox.making_way(record) if handed is None else None
            except Exception as error:
                self._settle_first(error)
                continue
            if way is not None:
                self._making_way = way
                way.add_done_callback(self._way_made)
                return
            assert handed is not None
            self._settle_first(handed)

    def _way_made(self, way: "asyncio.Future[producing.Ticket | None]") -> None:
        self._making_way = None
        if way.cancelled() or not self._waiting:
            return
        error = way.exception()
        # Without an error and a ticket, the record is to be tried again.
        outcome = way.result() if error is None else error
        if isinstance(outcome, Exception) and not self._outbox.knows(self._waiting[0][0].topic):
            self._settle_topic(self._waiting[0][0].topic, outcome)
        elif isinstance(outcome, producing.Ticket | Exception):
            self._settle_first(outcome)
        elif outcome is not None:
            raise outcome
        self._hand_waiting_over()

    def _settle_topic(self, topic: str, error: Exception) -> None:
        """Ends the wait of all records of a topic that was not found: none of them looks again."""
        waiting, self._waiting = self._waiting, deque()
        meant: list[_Waiting] = []
        for one in waiting:
            (meant if one[0].topic == topic else self._waiting).append(one)
        for one in meant:
            # Raising the same exception for each record would lengthen its traceback each time.
            self._settle(one, copy(error))

    def _settle_first(self, outcome: producing.Ticket | Exception) -> None:
        """Ends the wait of the first record, with its ticket or its error."""
        self._settle(self._waiting.popleft(), outcome)

    def _settle(self, waiting: _Waiting, outcome: producing.Ticket | Exception) -> None:
        record, handing, ticket = waiting
        self._waiting_bytes -= record.size
        if isinstance(outcome, Exception):
            # Record the failure at once: the next flush must not miss it.
            self._failed.append((record.topic, ticket, outcome))
            _fail(handing, outcome)
        elif not handing.done():
            handing.set_result(outcome)
        if not self._waiting and self._all_handed_over is not None:
            self._all_handed_over.set_result(None)
            self._all_handed_over = None

    async def _hand_over(self, record: Prepared) -> producing.Ticket:
        ticket = self._outbox.hand_over(record)
        while ticket is None:
            ticket = await self._outbox.making_way(record) or self._outbox.hand_over(record)
        return ticket

    async def _handed_over(self) -> None:
        while self._waiting:
            if self._making_way is None:
                # An interrupt, raised in a callback, has stopped the hand-over.
                self._hand_waiting_over()
                continue
            if self._all_handed_over is None:
                self._all_handed_over = asyncio.get_running_loop().create_future()
            # Unlike an await, this does not cancel the future with the caller.
            await asyncio.wait([self._all_handed_over])

    async def _flush(self, flush: Callable[[], "asyncio.Future[None]"]) -> None:
        await self._handed_over()
        uncounted: StreamlogError | None = None
        try:
            await flush()
        except StreamlogError as error:
            # An error of the audit; delivery errors take precedence over it.
            uncounted = error
        # Take the failures after the wait: a cancelled flush leaves them to the next flush.
        try:
            self._outbox.report()
        except DeliveryError as error:
            failures = self._take_failures()
            if not failures:
                raise
            raise _undelivered(failures + error.failures, error.unlisted) from None
        failures = self._take_failures()
        if failures:
            raise _undelivered(failures, 0)
        if uncounted is not None:
            raise uncounted

    def _take_failures(self) -> list[_Failure]:
        unseen = [(topic, error) for topic, ticket, error in self._failed if not ticket.is_seen]
        self._failed.clear()
        return [(topic, -1, 1, error) for topic, error in unseen]


@contextmanager
def noted(error: BaseException | None, what: str) -> Iterator[None]:
    """Turns an error of closing `what` into a note to `error`, if there is one."""
    try:
        yield
    except StreamlogError as undelivered:
        if error is None:
            raise
        error.add_note(f"and when the {what} was closed: {undelivered}")


def joined(first: StreamlogError | None, then: StreamlogError) -> StreamlogError:
    """Returns the error of closing one producer after another."""
    if isinstance(first, DeliveryError) and isinstance(then, DeliveryError):
        return _undelivered(first.failures + then.failures, first.unlisted + then.unlisted)
    return first or then


def _undelivered(failures: list[_Failure], unlisted: int) -> DeliveryError:
    count = sum(records for _, _, records, _ in failures) + unlisted
    text = f"{count} records were not delivered, the first because {failures[0][3]}"
    return DeliveryError(text, failures, unlisted)


def _fail(handing: _Handing, error: Exception) -> None:
    if not handing.done():
        handing.set_exception(error)
        # Retrieve the exception, so that asyncio does not report it too: flush raises it.
        handing.exception()
