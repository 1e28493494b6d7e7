"""Numbers in various formats: 1,234.56 and 1.234,56, 1'234.56 and 1 234,56.

"101.125" is ambiguous: 101 and an eighth, or a hundred thousand. The tick of the instrument
decides, or, if it is unknown, the other numbers of the mail.
"""

import re
from collections.abc import Iterable
from decimal import Decimal

_BLANKS = "\u00a0\u202f\u2009"
_GROUPS = rf"\d{{1,3}}(?:[.,'\u2019{_BLANKS}]\d{{3}})+(?!\d)(?:[.,]\d+)?"
NUMBER = rf"(?:{_GROUPS}|\d+(?:[.,]\d+)?)"
"""A number within a line, where a plain blank ends it."""

_ONLY = re.compile(rf"(?:\d{{1,3}}(?:[ .,'\u2019{_BLANKS}]\d{{3}})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?)")
_NUMBER = re.compile(rf"(?<![\w.,]){NUMBER}(?![\w%])")
_NOT_GROUPS = re.compile(rf"[ '\u2019{_BLANKS}]")


def decimals_mark(texts: Iterable[str]) -> str | None:
    """Returns the decimal mark of these texts, if a number is unambiguous."""
    votes = {".": 0, ",": 0}
    for text in texts:
        for found in _NUMBER.findall(text):
            mark = _certain_mark(found)
            if mark:
                votes[mark] += 1
    if votes["."] == votes[","]:
        return None
    return max(votes, key=lambda mark: votes[mark])


def _certain_mark(number: str) -> str | None:
    marks = [letter for letter in number if letter in ".,"]
    if not marks:
        return None
    if len(set(marks)) == 2:
        return marks[-1]
    if len(marks) > 1:
        return "," if marks[0] == "." else "."
    whole, _, rest = number.partition(marks[0])
    if len(rest) != 3 or len(whole) > 3 or whole == "0" or _NOT_GROUPS.search(whole):
        return marks[0]
    return None


def number(text: str, mark: str | None, tick: Decimal | None) -> Decimal | None:
    """Parses the whole text as a number; None if it is not one.

    Args:
        text: The text, without a currency.
        mark: The decimal mark of this mail, if it is known.
        tick: The tick of the instrument, if it is known.
    """
    text = text.strip()
    if not _ONLY.fullmatch(text):
        return None
    mark = _certain_mark(text) or _by_tick(text, tick) or mark or ("," if "," in text else ".")
    thousands = {".": ",", ",": "."}[mark]
    plain = _NOT_GROUPS.sub("", text).replace(thousands, "")
    return Decimal(plain.replace(mark, "."))


def _by_tick(text: str, tick: Decimal | None) -> str | None:
    """Returns the role of a mark before three digits: a decimal mark, if prices have as many."""
    if tick is None:
        return None
    found = "," if "," in text else "."
    if tick <= Decimal("0.001"):
        return found
    return "," if found == "." else "."
