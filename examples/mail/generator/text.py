"""Plain text layouts."""

from collections.abc import Callable

from mail.generator.numbers import SYMBOLS, number
from mail.generator.table import Deal, Offer, extra, table, with_currency


def fixed(offer: Offer) -> str:
    """Returns aligned columns, numbers to the right."""
    made = table(offer)
    named = len(offer.sender.identifiers)
    widths = [max(map(len, column)) for column in zip(made.heads, *made.rows, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(width) if place < named else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [made.heads, *made.rows]
    ]
    lines.insert(1, "-" * len(lines[0]))
    return "\n".join(filter(None, [made.sentence, *lines]))


def semicolons(offer: Offer) -> str:
    """Returns the table like a CSV export of a spreadsheet."""
    made = table(offer)
    return "\n".join(filter(None, [made.sentence, *map(";".join, [made.heads, *made.rows])]))


def pipes(offer: Offer) -> str:
    """Returns the table with borders of ASCII characters."""
    made = table(offer)
    lines = ["| " + " | ".join(row) + " |" for row in [made.heads, *made.rows]]
    lines.insert(1, "|" + "|".join("---" for _ in made.heads) + "|")
    return "\n".join(filter(None, [made.sentence, *lines]))


def sentences(offer: Offer) -> str:
    """Returns sentences, with other numbers beside the prices."""
    return "\n\n".join(_sentence(offer, deal) for deal in offer.deals)


def _sentence(offer: Offer, deal: Deal) -> str:
    sender, instrument = offer.sender, deal.instrument
    word = {"bid": "bid", "ask": "offered", "last": "last", "mid": "mid"}
    said = ", ".join(
        f"{word[side]} {with_currency(price, instrument, sender)}"
        for side, price in deal.prices.items()
    )
    tail = offer.random.choice(
        ["", f", size {extra(offer, 'size')}", f", settlement {extra(offer, 'date')}",
         f" (as of {extra(offer, 'time')}, yield {extra(offer, 'yield')})"]
    )  # fmt: skip
    return f"{instrument.name} ({instrument.isin}): {said}{tail}."


def blocks(offer: Offer) -> str:
    """Returns a few lines for each instrument."""
    return "\n\n".join(_block(offer, deal) for deal in offer.deals)


def _block(offer: Offer, deal: Deal) -> str:
    sender, instrument = offer.sender, deal.instrument
    lines = [f"{sender.word('name')}: {instrument.name}", f"ISIN: {instrument.isin}"]
    lines += [
        f"{sender.word(side)}: {number(price, sender.numbers)}"
        for side, price in deal.prices.items()
    ]
    lines.append(f"{sender.word('currency')}: {instrument.currency}")
    return "\n".join(lines + [f"{sender.word(key)}: {extra(offer, key)}" for key in sender.extras])


def shorthand(offer: Offer) -> str:
    """Returns traders' shorthand: ticker, then bid / ask, or one price."""
    lines = []
    for deal in offer.deals:
        currency = deal.instrument.currency
        said = " / ".join(number(price, offer.sender.numbers) for price in deal.prices.values())
        unit = SYMBOLS.get(currency, currency) if offer.sender.language != "en" else currency
        lines.append(f"{deal.instrument.ticker} {said} {unit}")
    return "\n".join(lines)


LAYOUTS: dict[str, Callable[[Offer], str]] = {
    "table": fixed,
    "semicolons": semicolons,
    "pipes": pipes,
    "sentences": sentences,
    "blocks": blocks,
    "shorthand": shorthand,
}
