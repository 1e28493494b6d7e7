"""The records in the topic of prices: the parser's reading of a mail.

A record has all prices of a mail, keyed by the mail's identity, as JSON:

    {"mail": "<1.7@isar.example>/0f34...", "message_id": "<1.7@isar.example>",
     "sender": "desk7@isar.example", "at": "2026-03-02T09:15:00+00:00", "version": 1,
     "run": 1772441700000, "prices": [{"instrument": "DE...", "side": "bid", "price": "101.25",
     "currency": "EUR"}, ...]}

So a new reading of a mail replaces the previous one, including wrong prices: of the
records of a key the one with the highest run counts, and compaction may remove the others.
"""

import json
from dataclasses import asdict, dataclass

SIDES = ("bid", "mid", "ask", "last")

SCHEMA = (
    "mail string, message_id string, sender string, at timestamp, version int, run long, "
    "prices array<struct<instrument: string, side: string, price: decimal(20,8), currency: string>>"
)
"""The same as a Spark schema."""


@dataclass(frozen=True)
class Quote:
    """A price of an instrument; its decimals are kept as written."""

    instrument: str
    side: str
    price: str
    currency: str


@dataclass(frozen=True)
class Reading:
    """The reading of a mail by this version of the parser."""

    mail: str
    message_id: str
    sender: str
    at: str
    version: int
    run: int
    """The time of the run, in milliseconds since 1970; the latest reading of a mail counts."""
    prices: list[Quote]

    def as_json(self) -> bytes:
        """Returns the record's value."""
        return json.dumps(asdict(self), ensure_ascii=False).encode()

    @classmethod
    def from_json(cls, value: bytes) -> "Reading":
        """Parses the reading in a record."""
        fields = json.loads(value)
        fields["prices"] = [Quote(**quote) for quote in fields["prices"]]
        return cls(**fields)
