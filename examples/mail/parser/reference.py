"""Look-up of instruments in texts: by ISIN, by ticker, by name."""

import re
from collections.abc import Iterable
from decimal import Decimal

from mail.instruments import Instrument, check_digit

_ISIN = re.compile(r"\b[A-Z]{2}[A-Z0-9]{9}[0-9]\b")
_TICKER = re.compile(r"(?<![\w.])[A-Z0-9]{1,6}\.[A-Z]{1,3}\b")


class Reference:
    """The table of instruments, by everything that identifies them."""

    def __init__(self, instruments: Iterable[Instrument]) -> None:
        """Indexes them: some 100 MB for a hundred thousand."""
        self._by_isin: dict[str, Instrument] = {}
        self._by_ticker: dict[str, Instrument] = {}
        self._by_name: dict[str, Instrument] = {}
        for instrument in instruments:
            self._by_isin[instrument.isin] = instrument
            self._by_ticker[instrument.ticker] = instrument
            self._by_name[instrument.name.casefold()] = instrument

    def isin_in(self, text: str) -> str | None:
        """Returns a known ISIN within the text."""
        return next((found for found in _ISIN.findall(text) if found in self._by_isin), None)

    def ticker_in(self, text: str) -> str | None:
        """Returns the ISIN of a ticker within the text."""
        for found in _TICKER.findall(text):
            if found in self._by_ticker:
                return self._by_ticker[found].isin
        return None

    def unknown_isin_in(self, text: str) -> str | None:
        """Returns an ISIN with a valid check digit within the text, known or not."""
        for found in _ISIN.findall(text):
            if check_digit(found[:11]) == found[11]:
                return str(found)
        return None

    def named(self, text: str) -> str | None:
        """Returns the ISIN of the instrument with exactly this name."""
        found = self._by_name.get(" ".join(text.split()).casefold())
        return found.isin if found else None

    def name(self, isin: str) -> str:
        """Returns its name; empty if it is unknown."""
        return self._by_isin[isin].name if isin in self._by_isin else ""

    def ticker(self, isin: str) -> str:
        """Returns its ticker; empty if it is unknown."""
        return self._by_isin[isin].ticker if isin in self._by_isin else ""

    def currency(self, isin: str) -> str | None:
        """Returns the currency in which it is quoted."""
        return self._by_isin[isin].currency if isin in self._by_isin else None

    def tick(self, isin: str) -> Decimal | None:
        """Returns its tick."""
        return self._by_isin[isin].tick if isin in self._by_isin else None
