"""Attachments: PDF, DOCX and XLSX become rows. Files that cannot be opened are Unreadable."""

import io
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from zipfile import ZipFile

from docx import Document
from docx.table import Table
from openpyxl import load_workbook
from pypdf import PdfReader

from mail.parser import rows

_ROWS_AT_MOST = 100_000
"""The limit of rows in a sheet, whose declared size may be wrong."""
_UNPACKED_AT_MOST = 512 * 2**20
"""The limit of unpacked bytes of DOCX and XLSX: small archives can expand to fill the memory."""


def pdf(content: bytes) -> list[rows.Row]:
    """Returns text in its page layout, so that columns stay separate."""
    found: list[rows.Row] = []
    for page in PdfReader(io.BytesIO(content)).pages:
        text = page.extract_text(extraction_mode="layout", layout_mode_space_vertically=False)
        found += rows.of_text(text)
    return found


def docx(content: bytes) -> list[rows.Row]:
    """Returns paragraphs and tables in order."""
    found: list[rows.Row] = []
    for part in Document(io.BytesIO(content)).iter_inner_content():
        if isinstance(part, Table):
            found += [[], *([cell.text for cell in line.cells] for line in part.rows), []]
        else:
            found += [*rows.of_text(part.text), []]
    return found


def xlsx(content: bytes) -> list[rows.Row]:
    """Returns the rows of all sheets, with the results of formulas."""
    book = load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    found: list[rows.Row] = []
    for sheet in book.worksheets:
        for cells in sheet.iter_rows(max_row=_ROWS_AT_MOST, values_only=True):
            found.append([_cell(cell) for cell in cells])
        found.append([])
    return found


def _refuse_bombs(content: bytes) -> None:
    with ZipFile(io.BytesIO(content)) as archive:
        size = sum(part.file_size for part in archive.infolist())
    if size > _UNPACKED_AT_MOST:
        raise ValueError(f"{size} bytes unpacked are more than {_UNPACKED_AT_MOST}")


def _cell(value: object) -> rows.Cell:
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, int | float):
        return Decimal(repr(value))
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return str(value).strip()


_READERS: dict[str, Callable[[bytes], list[rows.Row]]] = {"pdf": pdf, "docx": docx, "xlsx": xlsx}
TYPES = {
    "application/pdf": "pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
}


def kind(name: str, content_type: str) -> str | None:
    """Returns the kind of an attachment, by its type, or else by its name."""
    ending = name.rpartition(".")[2].lower()
    return TYPES.get(content_type) or (ending if ending in _READERS else None)


def read(kind: str, name: str, content: bytes) -> list[rows.Row]:
    """Returns the rows of an attachment of this kind.

    Raises:
        Unreadable: It cannot be opened: truncated, encrypted, or of another format.
    """
    try:
        if kind != "pdf":
            _refuse_bombs(content)
        return _READERS[kind](content)
    # Malformed files raise any kind of error in these packages and their dependencies.
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise rows.Unreadable(f"attachment {name}: {reason}") from error
