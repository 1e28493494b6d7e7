"""Composition of mails from offers, each with its true prices."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, time, timedelta, timezone
from decimal import Decimal
from email.message import EmailMessage
from email.utils import format_datetime
from random import Random

from mail.config import Generator
from mail.generator import html, noise, pdf, sheet, text, word
from mail.generator.senders import Sender, senders
from mail.generator.table import Deal, Offer
from mail.generator.universe import Market, universe
from mail.instruments import Instrument

OPENS, HOURS = time(7), 9.5
LARGE_BYTES = 15_000_000
"""The size of a large attachment; base64 makes 20 MB of it."""
MISTYPED = 0.005
"""The share of instruments with a typing error."""
_TYPES = {
    "pdf": ("application", "pdf"),
    "docx": ("application", "vnd.openxmlformats-officedocument.wordprocessingml.document"),
    "xlsx": ("application", "vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
}
_FILES = {"pdf": pdf.document, "docx": word.document, "xlsx": sheet.document}


@dataclass(frozen=True)
class Truth:
    """The prices that a reader should find in a mail; a broken mail cannot be read."""

    message_id: str
    sender: str
    at: str
    kind: str
    is_broken: bool
    prices: list[tuple[str, str, str, str]]
    """ISIN, side, price, currency."""

    def as_dict(self) -> dict[str, object]:
        """Its line in the ledger."""
        return asdict(self)


class Mailbox:
    """The mails of a day; number, bytes and prices depend on the settings only."""

    def __init__(self, settings: Generator) -> None:
        """Generates the senders; groups instruments by their class."""
        self.settings = settings
        self._market = Market(settings.seed)
        self._senders = senders(settings.seed)
        self._of_class: dict[str, list[Instrument]] = {}
        for instrument in universe():
            self._of_class.setdefault(instrument.asset_class, []).append(instrument)

    def __iter__(self) -> Iterator[tuple[bytes, Truth]]:
        """Yields all mails in the order of their dates."""
        for number in range(self.settings.mails):
            yield self.mail(number)

    def mail(self, number: int) -> tuple[bytes, Truth]:
        """Returns a mail."""
        random = Random(f"{self.settings.seed} mail {number}")
        # A few desks send most of the mails.
        sender = self._senders[int(len(self._senders) * random.random() ** 1.6)]
        span = timedelta(hours=HOURS) / max(self.settings.mails, 1)
        at = datetime.combine(self.settings.day, OPENS, UTC) + (number + random.random()) * span
        local = at.replace(microsecond=0).astimezone(timezone(timedelta(hours=sender.zone)))
        offer = Offer(sender, local, self._deals(random, sender, local), random)
        return self._written(number, offer)

    def _deals(self, random: Random, sender: Sender, at: datetime) -> list[Deal]:
        is_short = sender.body == "shorthand" and not sender.file
        sides = sender.sides if not is_short or len(sender.sides) < 3 else ("bid", "ask")
        rows = max(1, round(random.uniform(3, 16.5) / len(sides)))
        kind = self._of_class[random.choice(sender.classes)]
        chosen: dict[str, Instrument] = {}
        while len(chosen) < rows:
            # A few instruments are quoted most often.
            instrument = kind[int(len(kind) * random.random() ** 4)]
            chosen[instrument.isin] = instrument
        deals = [self._deal(random, instrument, sides, at) for instrument in chosen.values()]
        # Only a table shows which side is missing.
        if len(sides) > 1 and not is_short and random.random() < 0.2:
            random.choice(deals).prices.pop(random.choice(sides))
        return deals

    def _deal(
        self, random: Random, instrument: Instrument, sides: tuple[str, ...], at: datetime
    ) -> Deal:
        mid = self._market.mid(instrument, at)
        half = max(mid * Decimal("0.001"), instrument.tick)
        prices = {
            side: self._market.rounded(instrument, float(mid + half * sign))
            for side, sign in (
                ("bid", -1),
                ("mid", 0),
                ("last", random.choice([-1, 0, 1])),
                ("ask", 1),
            )
            if side in sides
        }
        return Deal(_mistyped(random, instrument), prices, instrument.isin)

    def _written(self, number: int, offer: Offer) -> tuple[bytes, Truth]:
        sender, random = offer.sender, offer.random
        mail = EmailMessage()
        mail["From"] = f"{sender.name} <{sender.address}>"
        mail["To"] = "prices@fund.example"
        mail["Date"] = format_datetime(offer.at)
        mail["Message-ID"] = f"<{self.settings.seed}.{number}@{sender.address.split('@')[1]}>"
        is_large = number < self.settings.large
        is_chat = not is_large and random.random() < 0.04
        is_broken = not is_large and not is_chat and random.random() < 0.005
        mail["Subject"] = "Lunch?" if is_chat else f"Prices {offer.at:%d.%m.%Y %H:%M}"
        file = sender.file or ("xlsx" if is_large or is_broken else None)
        if is_chat:
            kind = "chat"
            mail.set_content(f"{noise.greeting(offer)}\n\nAt 12.30?\n\n{noise.signature(offer)}\n")
        elif file:
            kind = file
            _with_file(mail, offer, file, is_broken=is_broken)
        else:
            kind = sender.body
            _with_body(mail, offer)
        if is_large:
            kind = f"large {kind}"
            scan = random.randbytes(LARGE_BYTES)
            mail.add_attachment(scan, maintype="image", subtype="png", filename="chart.png")
        return mail.as_bytes(), Truth(
            message_id=mail["Message-ID"],
            sender=sender.address,
            at=offer.at.astimezone(UTC).isoformat(),
            kind=kind,
            is_broken=is_broken,
            prices=[] if is_chat or is_broken else _prices(offer),
        )


def _mistyped(random: Random, instrument: Instrument) -> Instrument:
    """Sometimes swaps two letters in the text that identifies the instrument."""
    if random.random() >= MISTYPED:
        return instrument
    key = random.choice(["isin", "ticker", "name"])
    text = getattr(instrument, key)
    place = random.randrange(1, len(text) - 2)
    swapped = text[:place] + text[place + 1] + text[place] + text[place + 2 :]
    return replace(instrument, **{key: swapped})


def _prices(offer: Offer) -> list[tuple[str, str, str, str]]:
    return [
        (deal.isin, side, str(price), deal.instrument.currency)
        for deal in offer.deals
        for side, price in deal.prices.items()
    ]


def _after(offer: Offer) -> str:
    below = noise.older(offer) if offer.random.random() < 0.3 else ""
    return "\n\n".join(filter(None, [noise.signature(offer), below]))


def _with_body(mail: EmailMessage, offer: Offer) -> None:
    before, after = noise.greeting(offer), _after(offer)
    if offer.sender.body != "html":
        mail.set_content(f"{before}\n\n{text.LAYOUTS[offer.sender.body](offer)}\n\n{after}\n")
        return
    if offer.random.random() < 0.5:
        mail.set_content("This mail is better read as HTML.\n")
        mail.add_alternative(html.page(offer, before, after), subtype="html")
    else:
        mail.set_content(html.page(offer, before, after), subtype="html")


def _with_file(mail: EmailMessage, offer: Offer, file: str, *, is_broken: bool) -> None:
    mail.set_content(f"{noise.greeting(offer)}\n\nSee attached.\n\n{_after(offer)}\n")
    content = _FILES[file](offer, noise.disclaimer(offer))
    if is_broken:
        content = content[: len(content) // 3]
    maintype, subtype = _TYPES[file]
    name = f"prices-{offer.at:%Y%m%d-%H%M}.{file}"
    mail.add_attachment(content, maintype=maintype, subtype=subtype, filename=name)
