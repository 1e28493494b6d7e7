"""Prices in a typed line, recognized by the words near a number."""

import re
from dataclasses import dataclass

from mail.parser.currencies import PATTERN
from mail.parser.numbers import NUMBER

_DATES = re.compile(
    r"\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b|\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}:\d{2}\b"
    r"|\b\d{1,2} (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* \d{4}\b",
    re.IGNORECASE,
)
_NO_PRICES = re.compile(
    rf"(?:size|volume|nominal|yield|coupon|tel\.?|phone|mobile)\s*:?\s*\+?{NUMBER}%?"
    rf"|{NUMBER}\s?%|\+\d[\d ()-]{{6,}}",
    re.IGNORECASE,
)
_PRICE = (
    rf"(?:(?P<{{0}}before>{PATTERN})\s*)?(?P<{{0}}number>{NUMBER})(?:\s?(?P<{{0}}after>{PATTERN}))?"
)
_PAIR = re.compile(
    rf"{_PRICE.replace('{0}', 'bid_')}\s*[/\u2013]\s*{_PRICE.replace('{0}', 'ask_')}"
)
_SIDE = re.compile(
    rf"\b(?P<side>bid|offered|offer|ask|last|mid|price|at)\b:?\s*{_PRICE.replace('{0}', '')}",
    re.IGNORECASE,
)
_BARE = re.compile(_PRICE.replace("{0}", ""))
_SIDES = {"offered": "ask", "offer": "ask", "price": "last", "at": "last"}


@dataclass(frozen=True)
class Line:
    """A price in a line."""

    side: str
    number: str
    currency: str | None


def parts(line: str, without: list[str]) -> list[Line]:
    """Returns the prices of a line about one instrument, after removing its names."""
    for name in filter(None, without):
        line = re.sub(re.escape(name), " ", line, flags=re.IGNORECASE)
    line = _NO_PRICES.sub(" ", _DATES.sub(" ", line))
    pair = _PAIR.search(line)
    if pair:
        unit = next(filter(None, map(pair.group, _UNITS_OF_PAIR)), None)
        return [Line(side, pair[f"{side}_number"], unit) for side in ("bid", "ask")]
    said = [
        Line(_SIDES.get(side := found["side"].lower(), side), found["number"], _unit(found))
        for found in _SIDE.finditer(line)
    ]
    if said:
        return said
    alone = list(_BARE.finditer(line))
    if len(alone) == 1 or (alone and _unit(alone[0])):
        return [Line("last", alone[0]["number"], _unit(alone[0]))]
    return []


_UNITS_OF_PAIR = ("ask_after", "bid_before", "ask_before", "bid_after")


def _unit(found: "re.Match[str]") -> str | None:
    return found["before"] or found["after"]
