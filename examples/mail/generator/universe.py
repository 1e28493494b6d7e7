"""The 70,000 instruments of 25 asset classes, and their prices over time.

Everything is a function of the seed and the instrument's number, so that a price can be computed
without the prices before it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from random import Random

from mail.instruments import Instrument, check_digit

COUNT = 70_000
CURRENCY_OF = {
    "US": "USD", "DE": "EUR", "FR": "EUR", "NL": "EUR", "IT": "EUR", "GB": "GBP", "CH": "CHF",
    "SE": "SEK", "JP": "JPY", "CA": "CAD",
}  # fmt: skip


@dataclass(frozen=True)
class AssetClass:
    """A class of instruments, with their names and range of prices."""

    name: str
    word: str
    low: float
    high: float
    tick: str
    share: int
    """Its share of all instruments, in thousands."""


_BONDS = [
    ("Government bonds", "Treasury", 5), ("Supranational bonds", "Supra", 2),
    ("Agency bonds", "Agency", 3), ("Municipal bonds", "City", 5), ("Covered bonds", "Covered", 3),
    ("Investment-grade corporates", "Notes", 8), ("High-yield corporates", "HY Notes", 4),
    ("Emerging-market sovereigns", "Republic", 2), ("Emerging-market corporates", "EM Notes", 3),
    ("Convertible bonds", "Convertible", 1), ("Inflation-linked bonds", "Linker", 1),
    ("Floating-rate notes", "Floater", 3), ("Asset-backed securities", "ABS", 3),
    ("Mortgage-backed securities", "MBS", 4), ("Collateralised loan obligations", "CLO", 2),
    ("Leveraged loans", "Term Loan", 2), ("Bank capital", "AT1", 1),
    ("Money-market paper", "Paper", 2),
]  # fmt: skip
_OTHERS = [
    AssetClass("Equities", "", 4, 4000, "0.01", 8),
    AssetClass("Depositary receipts", "ADR", 5, 300, "0.01", 2),
    AssetClass("Exchange-traded funds", "ETF", 10, 600, "0.01", 2),
    AssetClass("Real-estate trusts", "REIT", 8, 250, "0.01", 1),
    AssetClass("Warrants", "Warrant", 0.5, 40, "0.001", 1),
    AssetClass("Commodity notes", "ETC", 6, 1800, "0.01", 1),
    AssetClass("Crypto notes", "ETP", 10, 90_000, "0.01", 1),
]
ASSET_CLASSES = [AssetClass(n, w, 78, 118, "0.001", share) for n, w, share in _BONDS] + _OTHERS
BOND_CLASSES = {name for name, _, _ in _BONDS}

_FIRST = [
    "Alder", "Birk", "Calder", "Drava", "Elbrus", "Fjord", "Garonne", "Halden", "Istria",
    "Jura", "Kestrel", "Lorne", "Meridian", "Norvik", "Orkla", "Pallas", "Quarnero", "Rhone",
    "Sable", "Tamar", "Ural", "Vesta", "Wexford", "Xanten", "Yarrow", "Zermatt",
]  # fmt: skip
_SECOND = [
    "Energy", "Foods", "Rail", "Shipping", "Chemicals", "Water", "Software", "Steel",
    "Insurance", "Telecom", "Paper", "Motors", "Mines", "Media", "Health", "Capital", "Airways",
    "Power", "Optics", "Logistics",
]  # fmt: skip
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SYMBOLS = "0123456789" + _LETTERS


@lru_cache(maxsize=1)
def universe() -> Sequence[Instrument]:
    """Returns all instruments by number; they are the same for every seed."""
    classes = [kind for kind in ASSET_CLASSES for _ in range(kind.share)]
    return [_instrument(number, classes[number % len(classes)]) for number in range(COUNT)]


def _instrument(number: int, kind: AssetClass) -> Instrument:
    random = Random(f"instrument {number}")
    is_bond = kind.name in BOND_CLASSES
    # Bonds are quoted per hundred in any currency; shares in yen have no decimals.
    country = random.choice([code for code in CURRENCY_OF if not is_bond or code != "JP"])
    currency = CURRENCY_OF[country]
    if kind.name == "Equities" and country == "GB":
        currency = "GBX"
    body = country + "".join(random.choices(_SYMBOLS, k=4)) + _numeral(number, 5, _SYMBOLS)
    issuer = f"{random.choice(_FIRST)} {random.choice(_SECOND)}"
    if is_bond:
        coupon = random.randrange(0, 64) * 0.125
        name = f"{issuer} {kind.word} {coupon:g}% {random.randrange(2027, 2056)}"
    else:
        name = f"{issuer} {kind.word}".strip()
    return Instrument(
        isin=body + check_digit(body),
        ticker=f"{_numeral(number * 7919 % 26**4, 4, _LETTERS)}.{country}",
        # Names have to be unique, like those of series and tranches.
        name=f"{name} {_numeral(number, 4, _LETTERS)}",
        asset_class=kind.name,
        currency=currency,
        country=country,
        tick=Decimal(1) if currency == "JPY" else Decimal(kind.tick),
    )


def _numeral(number: int, width: int, digits: str) -> str:
    letters = []
    for _ in range(width):
        number, rest = divmod(number, len(digits))
        letters.append(digits[rest])
    return "".join(reversed(letters))


_KINDS = {kind.name: kind for kind in ASSET_CLASSES}


class Market:
    """The prices of a seed."""

    def __init__(self, seed: int) -> None:
        """Creates a market for a seed."""
        self._seed = seed
        self._waves = lru_cache(maxsize=100_000)(self._make_waves)

    def mid(self, instrument: Instrument, at: datetime) -> Decimal:
        """Returns the price at a time: a level, and three waves around it."""
        level, waves = self._waves(instrument)
        hours = at.timestamp() / 3600
        swing = sum(size * math.sin(speed * hours + phase) for size, speed, phase in waves)
        return self.rounded(instrument, level * (1 + swing))

    def rounded(self, instrument: Instrument, price: float) -> Decimal:
        """Returns the nearest price that is a positive whole number of ticks."""
        return max(Decimal(price).quantize(instrument.tick), instrument.tick)

    def _make_waves(self, instrument: Instrument) -> tuple[float, list[tuple[float, float, float]]]:
        random = Random(f"{self._seed} {instrument.isin}")
        kind = _KINDS[instrument.asset_class]
        level = math.exp(random.uniform(math.log(kind.low), math.log(kind.high)))
        if instrument.currency in ("JPY", "GBX"):
            level *= 100
        size = 0.004 if instrument.asset_class in BOND_CLASSES else 0.02
        waves = [
            (
                size / step * random.uniform(0.4, 1.0),
                step * random.uniform(0.5, 1.1),
                random.random() * 6,
            )
            for step in (1, 3, 7)
        ]
        return level, waves
