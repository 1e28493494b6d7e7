"""Senders: each has a language, a number format and a layout of its own."""

from dataclasses import dataclass
from random import Random

from mail.generator.numbers import SEPARATORS
from mail.generator.universe import ASSET_CLASSES

WORDS = {
    "en": {
        "isin": "ISIN", "ticker": "Ticker", "name": "Security", "bid": "Bid", "ask": "Ask",
        "last": "Price", "mid": "Mid", "currency": "Ccy", "size": "Size", "date": "Settle",
        "time": "Time", "yield": "Yield", "prices": "All prices in {}.",
    },
    "de": {
        "isin": "ISIN", "ticker": "Kürzel", "name": "Bezeichnung", "bid": "Geld", "ask": "Brief",
        "last": "Kurs", "mid": "Mittelkurs", "currency": "Währung", "size": "Volumen",
        "date": "Valuta", "time": "Zeit", "yield": "Rendite", "prices": "Alle Kurse in {}.",
    },
    "fr": {
        "isin": "Code ISIN", "ticker": "Symbole", "name": "Libellé", "bid": "Achat",
        "ask": "Vente", "last": "Cours", "mid": "Milieu", "currency": "Devise",
        "size": "Quantité", "date": "Valeur", "time": "Heure", "yield": "Rendement",
        "prices": "Tous les cours en {}.",
    },
}  # fmt: skip

_PEOPLE = [
    "Ada Brandt", "Björn Castell", "Chloé Dufour", "Daniel Evers", "Elif Fontaine",
    "François Gall", "Greta Huber", "Hiroko Ito", "Ines Jansen", "Jürgen Keller",
    "Karim Lindqvist", "Léa Moreau", "Milan Novak", "Nora O'Brien",
]  # fmt: skip
_HOUSES = [
    "Albion Brokers", "Baltic Desk", "Cormorant Markets", "Danube Securities",
    "Estuary Capital", "Fjell Partners", "Gotthard Handel", "Hanse Makler", "Isar Kontor",
    "Jardin Finance", "Kappa Trading", "Lumen Rates", "Marais Titres",
]  # fmt: skip
BODIES = (
    "table",
    "semicolons",
    "pipes",
    "sentences",
    "blocks",
    "shorthand",
    "html",
    "html",
    "html",
)
FILES = ("pdf", "docx", "xlsx")


@dataclass(frozen=True)
class Sender:
    """A desk that sends prices."""

    name: str
    house: str
    address: str
    language: str
    numbers: str
    zone: int
    """The offset of its clock from UTC, in hours."""
    classes: tuple[str, ...]
    body: str
    file: str | None
    """The kind of its attachment, if it sends one."""
    identifiers: tuple[str, ...]
    """The columns by which it identifies instruments."""
    sides: tuple[str, ...]
    currency: str
    """The place of the currency: its own column, the cell, the heading, or a sentence."""
    extras: tuple[str, ...]
    """Columns other than prices."""

    def word(self, key: str) -> str:
        """Returns a word in its language."""
        return WORDS[self.language][key]


def senders(seed: int, count: int = 60) -> list[Sender]:
    """Returns the desks of a mailbox; together they quote all asset classes."""
    return [_sender(Random(f"{seed} sender {number}"), number) for number in range(count)]


def _sender(random: Random, number: int) -> Sender:
    house, person = random.choice(_HOUSES), random.choice(_PEOPLE)
    language = random.choice(["en", "en", "de", "fr"])
    fitting = {"en": ["english", "plain"], "de": ["german", "swiss"], "fr": ["french", "plain"]}
    style = random.choice(fitting[language])
    assert style in SEPARATORS
    domain = house.lower().replace(" ", "-")
    first = ASSET_CLASSES[number * 7 % len(ASSET_CLASSES)].name
    more = random.sample([kind.name for kind in ASSET_CLASSES], random.choice([0, 0, 1, 2]))
    identifiers = random.choice(
        [("isin", "name"), ("isin",), ("ticker", "name"), ("name", "isin"), ("name",), ("ticker",)]
    )
    return Sender(
        name=person,
        house=house,
        address=f"desk{number}@{domain}.example",
        language=language,
        numbers=style,
        zone=random.choice([0, 0, 1, 1, 2, -5, 9]),
        classes=tuple(dict.fromkeys([first, *more])),
        body=BODIES[(number * 5) % len(BODIES)],
        file=FILES[number // 4 % 3] if number % 4 == 1 else None,
        identifiers=identifiers,
        sides=random.choice(
            [("bid", "ask"), ("bid", "ask"), ("last",), ("last",), ("bid", "mid", "ask")]
        ),
        currency=random.choice(["column", "column", "cell", "heading", "sentence"]),
        extras=tuple(random.sample(["size", "date", "time", "yield"], random.choice([0, 1, 2, 2]))),
    )
