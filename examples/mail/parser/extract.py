"""Extraction of quotes from rows: tables by their headings, lines by the words near a number."""

import re
from collections.abc import Iterable
from decimal import Decimal

from mail.parser import columns, currencies
from mail.parser.lines import Line, parts
from mail.parser.numbers import decimals_mark, number
from mail.parser.reference import Reference
from mail.parser.rows import Cell, Row
from mail.quotes import Quote

_KEY_AND_VALUE = re.compile(r"([^:]{2,20}):\s+(.+)")
_UNIT_BEFORE = re.compile(rf"^({currencies.PATTERN})\s*(.+)$")
_UNIT_AFTER = re.compile(rf"^(.+?)\s*({currencies.PATTERN})$")


class Extractor:
    """Reads the rows of a part of a mail, a body or an attachment."""

    def __init__(self, reference: Reference, rows: list[Row]) -> None:
        """Scans all numbers first, to determine their format."""
        self._reference = reference
        self._rows = rows
        texts = (cell for row in rows for cell in row if isinstance(cell, str))
        self._mark = decimals_mark(texts)
        self._declared: str | None = None
        self._headings: list[columns.Heading | None] | None = None
        self._block: dict[str, Cell] = {}
        self._found: dict[tuple[str, str], Quote] = {}

    def quotes(self) -> list[Quote]:
        """Returns all prices; for each side of an instrument, the first one."""
        for row in self._rows:
            self._take(row)
        self._end_block()
        return list(self._found.values())

    def _take(self, row: Row) -> None:
        filled = [cell for cell in row if cell != ""]
        if not filled:
            self._end_block()
            return
        texts = [cell if isinstance(cell, str) else "" for cell in row]
        found = columns.headings(texts)
        if found is not None:
            self._headings = found
        elif self._headings is not None and self._fits(row):
            cells = zip(self._headings, row, strict=False)
            self._take_cells([(column, cell) for column, cell in cells if column], texts)
        elif len(filled) == 1 and isinstance(filled[0], str):
            self._take_line(filled[0])
        else:
            self._take_line("  ".join(str(cell) for cell in filled))

    def _fits(self, row: Row) -> bool:
        # A spreadsheet's rows may continue to the right of the table.
        return self._headings is not None and len(self._headings) <= len(row)

    def _take_line(self, line: str) -> None:
        self._declared = currencies.declared(line) or self._declared
        pair = _KEY_AND_VALUE.fullmatch(line)
        column = columns.heading(pair[1]) if pair else None
        if pair and column:
            if column.role in self._block:
                self._end_block()
            self._block[column.role] = pair[2]
            return
        reference = self._reference
        known = reference.isin_in(line) or reference.ticker_in(line)
        isin = known or reference.unknown_isin_in(line)
        if isin:
            name, ticker = reference.name(isin), reference.ticker(isin)
            for part in parts(line, [isin, name, ticker]):
                self._add_part(isin, part)

    def _end_block(self) -> None:
        block, self._block = self._block, {}
        if any(role in block for role in columns.PRICES):
            cells = [(columns.Heading(role), value) for role, value in block.items()]
            self._take_cells(cells, [str(value) for value in block.values()])

    def _take_cells(self, cells: list[tuple[columns.Heading, Cell]], texts: list[str]) -> None:
        isin = self._instrument(cells)
        if isin is None:
            return
        unit: str | None = None
        for column, cell in cells:
            if column.role == "currency":
                unit = currencies.code(str(cell))
        # A table of bare numbers may have the currency in a column without a heading.
        beside = next(filter(None, map(currencies.code, texts[len(cells) :])), None)
        for column, cell in cells:
            if column.role in columns.PRICES:
                given = unit or currencies.code(column.currency or "") or beside
                self._add(isin, column.role, cell, given)

    def _instrument(self, cells: Iterable[tuple[columns.Heading, Cell]]) -> str | None:
        by_role = {column.role: str(cell) for column, cell in cells}
        reference = self._reference
        return (
            reference.isin_in(by_role.get("isin", ""))
            or reference.ticker_in(by_role.get("ticker", ""))
            or reference.named(by_role.get("name", ""))
            or reference.isin_in(by_role.get("name", ""))
            or reference.unknown_isin_in(by_role.get("isin", ""))
        )

    def _add_part(self, isin: str, part: Line) -> None:
        self._add(isin, part.side, part.number, currencies.code(part.currency or ""))

    def _add(self, isin: str, side: str, cell: Cell, unit: str | None) -> None:
        price, own_unit = self._price(isin, cell)
        currency = own_unit or unit or self._declared or self._reference.currency(isin)
        if price is not None and price > 0 and currency:
            self._found.setdefault((isin, side), Quote(isin, side, str(price), currency))

    def _price(self, isin: str, cell: Cell) -> tuple[Decimal | None, str | None]:
        if isinstance(cell, Decimal):
            return cell, None
        text, unit = cell.strip(), None
        before, after = _UNIT_BEFORE.match(text), _UNIT_AFTER.match(text)
        if before:
            unit, text = before[1], before[2]
        elif after:
            text, unit = after[1], after[2]
        found = number(text, self._mark, self._reference.tick(isin))
        return found, currencies.code(unit) if unit else None
