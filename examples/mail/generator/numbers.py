"""How people write numbers, dates and currencies."""

from datetime import date
from decimal import Decimal

SEPARATORS = {
    "english": (",", "."),
    "german": (".", ","),
    "french": ("\u00a0", ","),
    "swiss": ("'", "."),
    "plain": ("", "."),
}
"""What stands between thousands, and before decimals."""

SYMBOLS = {"EUR": "€", "USD": "$", "GBP": "£", "JPY": "¥"}


def number(value: Decimal, style: str) -> str:
    """A number, in one of these ways."""
    thousands, decimals = SEPARATORS[style]
    return f"{value:,f}".replace(",", "\0").replace(".", decimals).replace("\0", thousands)


def day(value: date, style: str) -> str:
    """A date, as those write it who write numbers so."""
    if style in ("german", "swiss"):
        return f"{value:%d.%m.%Y}"
    return f"{value:%d/%m/%Y}" if style == "french" else f"{value:%d %b %Y}"
