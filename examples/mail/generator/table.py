"""The contents of a mail before its layout: a sender's deals, and a table of their texts."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from random import Random

from mail.generator.numbers import SYMBOLS, day, number
from mail.generator.senders import Sender
from mail.instruments import Instrument


@dataclass(frozen=True)
class Deal:
    """An instrument with its prices by side."""

    instrument: Instrument
    """The instrument as written, possibly with a typing error."""
    prices: dict[str, Decimal]
    isin: str
    """The true ISIN."""


@dataclass(frozen=True)
class Offer:
    """All quotes of a sender in one mail, at its local time."""

    sender: Sender
    at: datetime
    deals: list[Deal]
    random: Random

    @property
    def currency(self) -> str | None:
        """The currency of all deals, if they have the same."""
        found = {deal.instrument.currency for deal in self.deals}
        return found.pop() if len(found) == 1 else None


@dataclass(frozen=True)
class Table:
    """The headings and rows of a table, for readers."""

    heads: list[str]
    rows: list[list[str]]
    sentence: str
    """A sentence that has to accompany it."""


def table(offer: Offer) -> Table:
    """Arranges an offer in the columns of its sender."""
    sender, shared = offer.sender, offer.currency
    place = sender.currency
    if place in ("heading", "sentence") and shared is None:
        place = "column"
    unit = f" ({shared})" if place == "heading" else ""
    heads = [sender.word(key) for key in sender.identifiers]
    if place == "column":
        heads.append(sender.word("currency"))
    heads += [sender.word(side) + unit for side in sender.sides]
    heads += [sender.word(extra) for extra in sender.extras]
    sentence = sender.word("prices").format(shared) if place == "sentence" else ""
    return Table(heads, [_row(offer, deal, place) for deal in offer.deals], sentence)


def _row(offer: Offer, deal: Deal, place: str) -> list[str]:
    sender, instrument = offer.sender, deal.instrument
    cells = [str(getattr(instrument, key)) for key in sender.identifiers]
    if place == "column":
        cells.append(instrument.currency)
    for side in sender.sides:
        if side not in deal.prices:
            cells.append(offer.random.choice(["-", "n/a"]))
        elif place == "cell":
            cells.append(with_currency(deal.prices[side], instrument, sender))
        else:
            cells.append(number(deal.prices[side], sender.numbers))
    return cells + [extra(offer, key) for key in sender.extras]


def with_currency(price: Decimal, instrument: Instrument, sender: Sender) -> str:
    """Formats a price as ``EUR 101.25``, or ``101,25 €``."""
    text = number(price, sender.numbers)
    if sender.language != "en":
        return f"{text} {SYMBOLS.get(instrument.currency, instrument.currency)}"
    return f"{instrument.currency} {text}"


def extra(offer: Offer, key: str) -> str:
    """Returns a number that looks like a price."""
    random, style = offer.random, offer.sender.numbers
    if key == "size":
        return number(Decimal(random.choice([50_000, 250_000, 1_000_000, 5_000_000])), style)
    if key == "yield":
        return number(Decimal(random.randrange(50, 900)).scaleb(-2), style) + "%"
    if key == "time":
        return f"{offer.at:%H:%M}"
    return day(offer.at.date() + timedelta(days=random.randrange(2, 90)), style)
