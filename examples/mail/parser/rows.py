"""The common form of all formats: rows of cells with texts, or numbers if the format has them."""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import TypeAlias

Cell: TypeAlias = str | Decimal
Row: TypeAlias = list[Cell]

_RULE = re.compile(r"[\s|+:=_-]*")
_CUT = re.compile(
    r"-{2,} ?(original message|forwarded message|ursprüngliche nachricht|message d'origine)\b"
    r"|begin forwarded message|(on|am|le) .{6,90} (wrote|schrieb|a écrit)\b.*:\s*$",
    re.IGNORECASE,
)
_GAP = re.compile(r"\t+| {2,}")


class Unreadable(ValueError):
    """A part of a mail that cannot be read; the message says which, and why."""


def of_text(text: str) -> Iterator[Row]:
    """Returns the rows of plain text, with cells separated by pipes, semicolons, tabs or gaps.

    An empty row marks the end of a paragraph.
    """
    for line in text.splitlines():
        line = line.strip()
        if not line:
            yield []
        elif not _RULE.fullmatch(line):
            yield list(_cells(line))


def _cells(line: str) -> list[str]:
    if line.count("|") >= 2:
        return [cell.strip() for cell in line.strip("|").split("|")]
    if line.count(";") >= 2 or re.fullmatch(r"[^\s;]+;[^;]+", line):
        return [cell.strip() for cell in line.split(";")]
    return _GAP.split(line)


def own(text: str) -> str:
    """Returns the new text: without quotes, forwarded mails, and the signature."""
    kept = []
    for line in text.splitlines():
        if line in ("-- ", "--") or _CUT.match(line.strip()):
            break
        if not line.lstrip().startswith(">"):
            kept.append(line)
    return "\n".join(kept)
