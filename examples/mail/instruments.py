"""The reference table of instruments: a CSV file with a row for each, keyed by ISIN."""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, fields
from decimal import Decimal
from pathlib import Path


@dataclass(frozen=True)
class Instrument:
    """A traded instrument."""

    isin: str
    ticker: str
    name: str
    asset_class: str
    currency: str
    country: str
    tick: Decimal
    """The smallest step of its price."""


def write(path: Path, instruments: Iterable[Instrument]) -> None:
    """Writes the table."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(key.name for key in fields(Instrument))
        rows.writerows(astuple(instrument) for instrument in instruments)


def read(path: Path) -> Iterator[Instrument]:
    """Reads the table."""
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            yield Instrument(**{**row, "tick": Decimal(row["tick"])})  # type: ignore[arg-type]


def check_digit(body: str) -> str:
    """Returns the check digit of an ISIN with these first eleven characters.

    Letters count as 10 to 35; from the right, every second digit is doubled; a doubled digit counts
    as the sum of its own digits.
    """
    digits = [int(digit) for letter in body for digit in str(int(letter, 36))]
    total = sum(
        sum(divmod(2 * digit, 10)) if place % 2 == 0 else digit
        for place, digit in enumerate(reversed(digits))
    )
    return str(-total % 10)
