"""Formats of numbers, dates and currencies in various styles."""

from datetime import date
from decimal import Decimal

SEPARATORS = {
    "english": (",", "."),
    "german": (".", ","),
    "french": ("\u00a0", ","),
    "swiss": ("'", "."),
    "plain": ("", "."),
}
"""The separators of thousands and of decimals."""

SYMBOLS = {"EUR": "€", "USD": "$", "GBP": "£", "JPY": "¥"}


def number(value: Decimal, style: str) -> str:
    """Formats a number in one of the styles."""
    thousands, decimals = SEPARATORS[style]
    return f"{value:,f}".replace(",", "\0").replace(".", decimals).replace("\0", thousands)


def day(value: date, style: str) -> str:
    """Formats a date in the matching style."""
    if style in ("german", "swiss"):
        return f"{value:%d.%m.%Y}"
    return f"{value:%d/%m/%Y}" if style == "french" else f"{value:%d %b %Y}"
