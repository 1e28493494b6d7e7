"""Currencies by code and by sign."""

import re

_ALL = [
    "AUD", "BRL", "CAD", "CHF", "CNH", "CNY", "CZK", "DKK", "EUR", "GBP", "GBX", "HKD", "HUF",
    "ILS", "INR", "JPY", "KRW", "MXN", "NOK", "NZD", "PLN", "SEK", "SGD", "TRY", "TWD", "USD",
    "ZAR",
]  # fmt: skip
CODES = frozenset(_ALL)
_SIGNS = {"€": "EUR", "$": "USD", "£": "GBP", "¥": "JPY"}
PATTERN = r"(?:" + "|".join([r"\b(?:" + "|".join(sorted(CODES)) + r"|GBp)\b", "[€$£¥]"]) + ")"
"""Matches a currency within a line."""
_SENTENCE = re.compile(
    r"(?:prices?|quotes?|levels?|kurse|preise|cours|prix)\b"
    rf"[^.\n]{{0,20}}?\b(?:in|en)\s+({PATTERN})",
    re.IGNORECASE,
)


def code(text: str) -> str | None:
    """Returns the code of a currency, if the text is one."""
    text = text.strip()
    if text in ("GBp", "p"):
        return "GBX"
    found = _SIGNS.get(text, text.upper())
    return found if found in CODES else None


def declared(text: str) -> str | None:
    """Returns the currency that a sentence declares for all following prices."""
    found = _SENTENCE.search(text)
    return code(found[1]) if found else None
