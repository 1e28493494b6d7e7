"""The text around the prices: greetings, signatures, disclaimers, and quoted older mails.

Telephone numbers, dates, index levels and sizes look like prices, and old prices do not count.
"""

from datetime import timedelta
from decimal import Decimal

from mail.generator.numbers import day, number
from mail.generator.table import Offer

_GREETINGS = {
    "en": ["Hi all,", "Good morning,", "Dear colleagues,"],
    "de": ["Hallo zusammen,", "Guten Morgen,"],
    "fr": ["Bonjour,", "Bonjour à tous,"],
}
_DISCLAIMERS = (
    "This message is for professional clients only. Capital 12,500,000.00 EUR. Reg. no. 4471.93.",
    "Indicative levels, no offer. Past returns of 7.25 % p.a. are no guide to the future.",
    "Registered in Dublin, No. 118.204. Authorised since 14.06.1998 under licence 2000/12.75.",
)


def greeting(offer: Offer) -> str:
    """Returns a greeting, often with a comment on the market."""
    random, style = offer.random, offer.sender.numbers
    index = number(Decimal(random.randrange(1_500_000, 1_900_000)).scaleb(-2), style)
    market = random.choice(
        [
            "",
            f"Index at {index}, up 0.45% since 08:30.",
            f"Fixing on {day(offer.at.date(), style)}.",
        ]
    )
    return "\n\n".join(filter(None, [random.choice(_GREETINGS[offer.sender.language]), market]))


def signature(offer: Offer) -> str:
    """Returns a signature."""
    sender, random = offer.sender, offer.random
    phone = f"+44 20 7946 {random.randrange(1000):04d}"
    lines = [
        "-- ",
        sender.name,
        sender.house,
        f"Tel. {phone}, mobile +49 170 {random.randrange(10**7)}",
    ]
    return "\n".join([*lines, disclaimer(offer)])


def disclaimer(offer: Offer) -> str:
    """Returns a legal disclaimer."""
    return offer.random.choice(_DISCLAIMERS)


def older(offer: Offer) -> str:
    """Returns an earlier mail, quoted or forwarded, with its old prices."""
    sender, random = offer.sender, offer.random
    before = offer.at - timedelta(days=1)
    deal = random.choice(offer.deals)
    old = number(next(iter(deal.prices.values())) * 2, sender.numbers)
    line = f"{deal.instrument.isin} last {deal.instrument.currency} {old}"
    if random.random() < 0.5:
        said = f"On {before:%a, %d %b %Y} at {before:%H:%M} {sender.name} wrote:"
        return f"{said}\n> Yesterday:\n> {line}"
    heads = f"From: {sender.name}\nSent: {before:%d %B %Y %H:%M}\nSubject: Prices"
    mark = random.choice(["-----Original Message-----", "---------- Forwarded message ---------"])
    return f"{mark}\n{heads}\n\n{line}"
