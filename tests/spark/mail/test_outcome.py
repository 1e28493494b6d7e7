"""Mails with very many prices or errors: their prices are stored, or the mail is kept."""

from collections.abc import Callable
from random import Random

import streamlog
from mail import topics
from mail.parser.outcome import Outcomes
from mail.parser.read import Reader
from mail.parser.reference import Reference
from mail.quotes import Quote, Reading
from spark.mail.conftest import Commands

RAW = b"Message-ID: <long@test>\nDate: Mon, 02 Mar 2026 10:15:00 +0100\n\nPrices\n"


class Verbose(Reader):
    """A parser that finds a given number of prices in every mail."""

    def __init__(self, prices: int, digits: int = 8) -> None:
        """Chooses incompressible prices."""
        super().__init__(Reference([]))
        self.prices, self.digits = prices, digits

    def read(self, raw: bytes, run: int) -> Reading:
        """Returns the given prices."""
        reading = super().read(raw, run)
        random = Random(11)
        for _ in range(self.prices):
            price = str(random.randrange(10**self.digits))
            instrument = f"XS{random.randrange(10**10):010d}"
            reading.prices.append(Quote(instrument, "last", price, "EUR"))
        return reading


def outcome(
    commands: Commands, client: streamlog.Client, reader: Reader
) -> tuple[list[Reading], list[streamlog.Message]]:
    """Returns the readings, and the unread mails, after one mail."""
    names = commands.settings.topics
    with topics.connect(commands.settings), client.producer() as producer:
        producer.send(names.mails, RAW, key=b"long")
    with Outcomes(client, names, reader) as outcomes:
        for message in client.topic(names.mails).read():
            outcomes.add(message)
        outcomes.flush()
    read = [
        Reading.from_json(message.value or b"") for message in client.topic(names.prices).read()
    ]
    return read, list(client.topic(names.unread).read())


def test_a_mail_with_60_000_prices_is_stored_as_one_reading(
    configured: Callable[..., Commands], client: streamlog.Client
) -> None:
    (reading,), unread = outcome(configured(), client, Verbose(60_000))
    assert len(set(reading.prices)) == 60_000
    assert unread == []


def test_a_mail_that_says_more_than_a_record_holds_is_kept_with_the_reason(
    configured: Callable[..., Commands], client: streamlog.Client
) -> None:
    read, (message,) = outcome(configured(), client, Verbose(40_000, digits=900))
    assert read == []
    assert message.value == RAW
    assert b"40,000 prices" in (dict(message.headers)["reason"] or b"")
