"""The rows of the study, in families."""

from study.errors import StudyError
from study.plan import Scale
from study.rows import latency, lifecycle, paper, partitions, producing, reading, sizes
from study.rows.row import Cell, Row

__all__ = ["Cell", "Row", "chosen_rows", "rows_of"]

FAMILIES = (paper, producing, reading, latency, lifecycle, sizes, partitions)


def rows_of(scale: Scale) -> list[Row]:
    """Returns all rows of a scale."""
    return [row for family in FAMILIES for row in family.rows(scale)]


def chosen_rows(scale: Scale, words: str) -> list[Row]:
    """Returns the rows of a list of names of rows or families, or all."""
    names = {word for word in words.replace(",", " ").split() if word}
    rows = rows_of(scale)
    known = {name for row in rows for name in (row.name, row.family)}
    if names - known:
        unknown = ", ".join(sorted(names - known))
        raise StudyError(f"no row {unknown}; there are {', '.join(sorted(known))}")
    return [row for row in rows if not names or names & {row.name, row.family}]
