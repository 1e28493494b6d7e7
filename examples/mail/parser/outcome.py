"""The outcome of a mail: a record in the topic of prices, or in the topic of unread mails."""

import time
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from mail.config import Topics
from mail.parser.patience import time_limit
from mail.parser.read import Reader
from mail.parser.rows import Unreadable
from mail.quotes import Reading
from mail.topics import LARGEST_BYTES, MAIL_BYTES
from streamlog import Client, Message

READ_SECONDS = 60.0
REASON_LENGTH = 1000
"""The limit of a reason in a header; readers may return long messages."""


@dataclass
class Counts:
    """Counts for the summary."""

    mails: int = 0
    prices: int = 0
    unread: int = 0


class Outcomes:
    """Reads mails, and publishes the outcome of each under its key."""

    def __init__(self, client: Client, topics: Topics, reader: Reader) -> None:
        """Publishes with this client."""
        self.counts = Counts()
        self._topics = topics
        self._reader = reader
        self._producer = client.producer(compression="lz4", max_request_size=LARGEST_BYTES)

    def add(self, message: Message) -> None:
        """Reads a mail; an unreadable mail is kept, with the reason."""
        raw = message.raw_value or b""
        self.counts.mails += 1
        try:
            with time_limit(READ_SECONDS):
                reading = self._reader.read(raw, run=time.time_ns() // 1_000_000)
            value = _fitting(reading)
        except Unreadable as error:
            self._unread(message, str(error))
        # The service has to survive any input, and bugs that it uncovers.
        except Exception as error:
            self._unread(message, f"{type(error).__name__}: {error}")
        else:
            self.counts.prices += len(reading.prices)
            self._producer.send(self._topics.prices, value, key=message.raw_key)

    def flush(self) -> None:
        """Waits until all outcomes are stored."""
        self._producer.flush()

    def _unread(self, message: Message, reason: str) -> None:
        self.counts.unread += 1
        # A file name in a mail is not always valid text.
        why = reason[:REASON_LENGTH].encode(errors="replace")
        place = f"{message.topic}-{message.partition}:{message.offset}"
        self._producer.send(
            self._topics.unread,
            message.raw_value,
            key=message.raw_key,
            headers={"reason": why, "place": place.encode()},
        )

    def __enter__(self) -> Self:
        """Returns the object, which is ready already."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Delivers pending records."""
        self._producer.__exit__(kind, error, trace)


def _fitting(reading: Reading) -> bytes:
    value = reading.as_json()
    if len(value) > MAIL_BYTES:
        size = f"{len(value)} bytes, more than the {MAIL_BYTES} of a record"
        raise Unreadable(f"reading: {len(reading.prices):,} prices are {size}")
    return value
