"""HTML tables, as pasted from mail programs and spreadsheets."""

from html import escape

from mail.generator.table import Offer, table

_STYLES = (
    ("border=1 cellpadding=4", "", "td"),
    ('style="border-collapse:collapse;font-family:Calibri"', 'style="padding:2px 8px"', "th"),
    ('class="prices" width="100%"', 'align="right" nowrap', "th"),
)


def page(offer: Offer, before: str, after: str) -> str:
    """Returns a page: text, table, text; sometimes inside a layout table."""
    inner = f"{_paragraphs(before)}{_table(offer)}{_paragraphs(after)}"
    if offer.random.random() < 0.3:
        inner = f'<table role="presentation" width="600"><tr><td>{inner}</td></tr></table>'
    style = "<style>td { font-size: 10.5pt; margin: 0 12.75px }</style>"
    return f'<html><head><meta charset="utf-8">{style}</head><body>{inner}</body></html>'


def _table(offer: Offer) -> str:
    made = table(offer)
    of_table, of_cell, head = offer.random.choice(_STYLES)
    rows = ["".join(f"<{head} {of_cell}><b>{escape(text)}</b></{head}>" for text in made.heads)]
    rows += ["".join(f"<td {of_cell}>{_cell(text)}</td>" for text in row) for row in made.rows]
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    sentence = f"<p>{escape(made.sentence)}</p>" if made.sentence else ""
    return f"{sentence}<table {of_table}>{body}</table>"


def _cell(text: str) -> str:
    if text in ("-", "n/a"):
        return "&nbsp;"
    return f"<span>{escape(text)}</span>"


def _paragraphs(text: str) -> str:
    """Formats quoted lines like a mail program."""
    made = []
    for part in text.split("\n\n"):
        lines = part.split("\n")
        quoted = [line[2:] for line in lines if line.startswith("> ")]
        if quoted:
            plain = [escape(line) for line in lines if not line.startswith("> ")]
            made.append("<p>" + "<br>".join(plain) + "</p>")
            made.append("<blockquote>" + "<br>".join(map(escape, quoted)) + "</blockquote>")
        elif part.strip():
            made.append("<p>" + "<br>".join(map(escape, lines)) + "</p>")
    return "".join(made)
