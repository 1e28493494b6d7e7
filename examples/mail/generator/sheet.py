"""A price list as an XLSX: numbers as numbers, or as texts, as people often write them."""

import io
from datetime import timedelta

from openpyxl import Workbook

from mail.generator.table import Offer, table


def document(offer: Offer, after: str) -> bytes:
    """Returns a workbook with the table below a title, and another sheet."""
    made = table(offer)
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = offer.sender.house
    sheet["A1"] = f"Prices of {offer.at:%d.%m.%Y}"
    sheet["A2"] = made.sentence
    sheet.append([])
    sheet.append(made.heads)
    as_numbers = offer.random.random() < 0.6
    sides = range(
        len(made.heads) - len(offer.sender.extras) - len(offer.sender.sides), len(made.heads)
    )
    for row, deal in zip(made.rows, offer.deals, strict=True):
        cells: list[object] = list(row)
        if as_numbers:
            for place, side in zip(sides, offer.sender.sides, strict=False):
                price = deal.prices.get(side)
                cells[place] = None if price is None else float(price)
        sheet.append(cells)
        if as_numbers and offer.sender.currency == "cell":
            # Here the currency is only in the cell's number format: write it into a cell as well.
            sheet.cell(sheet.max_row, len(cells) + 1, deal.instrument.currency)
    notes = book.create_sheet("Notes")
    notes.append(["Settlement", offer.at.replace(tzinfo=None) + timedelta(days=2)])
    notes.append(["Rate used", 1.0837])
    notes.append([after])
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()
