"""A price list as a DOCX."""

import io

from docx import Document

from mail.generator.table import Offer, table


def document(offer: Offer, after: str) -> bytes:
    """Returns a document with a heading, a table, and a last paragraph."""
    made = table(offer)
    file = Document()
    file.add_heading(f"{offer.sender.house}, {offer.at:%d %B %Y}", level=1)
    if made.sentence:
        file.add_paragraph(made.sentence)
    grid = file.add_table(rows=0, cols=len(made.heads))
    for row in [made.heads, *made.rows]:
        for cell, text in zip(grid.add_row().cells, row, strict=True):
            cell.text = text
    file.add_paragraph(after)
    made_of = io.BytesIO()
    file.save(made_of)
    return made_of.getvalue()
