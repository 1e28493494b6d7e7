"""The headings of a table: columns of identifiers, prices, and currencies."""

import re
from dataclasses import dataclass

_WORDS = {
    "isin": "isin,code isin,isin code,isin-code",
    "ticker": "ticker,kürzel,symbole,symbol,ric",
    "name": "security,instrument,name,bezeichnung,wertpapier,libellé,titre,description",
    "bid": "bid,geld,achat,buy,bid price",
    "ask": "ask,brief,vente,offer,sell,offered,ask price",
    "mid": "mid,mittelkurs,milieu",
    "last": "price,last,kurs,cours,px,last price,level",
    "currency": "ccy,currency,währung,devise,cur,curr",
    "other": "size,settle,settlement,time,yield,volumen,valuta,zeit,rendite,quantité,valeur,heure,"
    "rendement,volume,qty,quantity,nominal,date,datum,change,maturity,coupon",
}  # fmt: skip
_ROLES = {word: role for role, words in _WORDS.items() for word in words.split(",")}
_UNIT = re.compile(r"^(?P<word>.*?)\s*[(\[]\s*(?P<unit>[A-Za-z]{3}|[€$£¥])\s*[)\]]$")
PRICES = ("bid", "mid", "ask", "last")


@dataclass(frozen=True)
class Heading:
    """The role of a column, and the currency in its heading."""

    role: str
    currency: str | None = None


def heading(text: str) -> Heading | None:
    """Parses a cell as a heading; None if it is not one."""
    text = text.strip().rstrip(":").strip()
    unit = _UNIT.match(text)
    word = unit["word"] if unit else text
    role = _ROLES.get(word.casefold())
    return Heading(role, unit["unit"] if unit else None) if role else None


def headings(cells: list[str]) -> list[Heading | None] | None:
    """Returns the columns if the row has headings, among them a price and an identifier."""
    found = [heading(cell) for cell in cells]
    roles = [column.role for column in found if column]
    named = any(role in ("isin", "ticker", "name") for role in roles)
    if named and any(role in PRICES for role in roles) and len(roles) * 2 > len(cells):
        return found
    return None
