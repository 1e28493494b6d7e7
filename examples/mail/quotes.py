"""What the parser says of a mail: the form of the records in the topic of prices.

A record is all that a mail says, keyed by the mail's identity, as JSON:

    {"mail": "<1.7@isar.example>/0f34...", "message_id": "<1.7@isar.example>",
     "sender": "desk7@isar.example", "at": "2026-03-02T09:15:00+00:00", "version": 1,
     "run": 1772441700000, "prices": [{"instrument": "DE...", "side": "bid", "price": "101.25",
     "currency": "EUR"}, ...]}

So a mail that is read again replaces all that was read before, also a price that was none: of the
records of a key the one with the highest run counts, and compaction may drop the others.
"""

import json
from dataclasses import asdict, dataclass

SIDES = ("bid", "mid", "ask", "last")

SCHEMA = (
    "mail string, message_id string, sender string, at timestamp, version int, run long, "
    "prices array<struct<instrument: string, side: string, price: decimal(20,8), currency: string>>"
)
"""The same, in Spark's words."""


@dataclass(frozen=True)
class Quote:
    """A price of an instrument; decimals are kept as they were written."""

    instrument: str
    side: str
    price: str
    currency: str


@dataclass(frozen=True)
class Reading:
    """What a mail says, as this version of the parser read it."""

    mail: str
    message_id: str
    sender: str
    at: str
    version: int
    run: int
    """Milliseconds since 1970 when it was read; the latest run of a mail counts."""
    prices: list[Quote]

    def as_json(self) -> bytes:
        """The record's value."""
        return json.dumps(asdict(self), ensure_ascii=False).encode()

    @classmethod
    def from_json(cls, value: bytes) -> "Reading":
        """The reading that is in a record."""
        fields = json.loads(value)
        fields["prices"] = [Quote(**quote) for quote in fields["prices"]]
        return cls(**fields)
