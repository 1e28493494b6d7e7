"""HTML: data tables become rows, everything else becomes text."""

from bs4 import BeautifulSoup, Tag

from mail.parser import rows

_QUOTES = "blockquote, .gmail_quote, .moz-cite-prefix"
_BLOCKS = ("p", "div", "li", "h1", "h2", "h3", "tr")
_MARK = "\x01"
"""A placeholder in the text for a table."""


def read(html: str) -> list[rows.Row]:
    """Returns the rows of a page in order."""
    soup = BeautifulSoup(html, "lxml")
    for part in soup.select(f"style, script, head, {_QUOTES}"):
        part.decompose()
    tables: list[list[rows.Row]] = []
    for table in soup.find_all("table"):
        if isinstance(table, Tag) and table.find("table") is None:
            tables.append(_table(table))
            table.replace_with(f"\n{_MARK}\n")
    for line in soup.find_all("br"):
        line.replace_with("\n")
    for block in soup.find_all(_BLOCKS):
        block.append("\n\n")
    found: list[rows.Row] = []
    waiting = iter(tables)
    # A table in a quoted older mail is removed with it.
    for row in rows.of_text(rows.own(soup.get_text())):
        found += [[], *next(waiting, []), []] if row == [_MARK] else [row]
    return found


def _table(table: Tag) -> list[rows.Row]:
    made: list[rows.Row] = []
    for line in table.find_all("tr"):
        cells: rows.Row = []
        for cell in line.find_all(["td", "th"]):
            text = " ".join(cell.get_text(" ").replace("\u00a0", "\0").split())
            cells.append(text.replace("\0", "\u00a0").strip())
            cells += [""] * (_span(cell) - 1)
        made.append(cells)
    return made


def _span(cell: Tag) -> int:
    span = str(cell.get("colspan", "1"))
    return min(int(span), 100) if span.isdigit() else 1
