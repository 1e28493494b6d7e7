"""Measured figures, their circumstances, and thresholds for them."""

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Work:
    """The circumstances of a measurement."""

    promise: str = ""
    client: str = ""
    in_flight: int | None = None
    record_bytes: int | None = None
    batch: int | None = None

    def cells(self) -> list[str]:
        """The cells of the table."""
        values = (self.promise, self.client, self.in_flight, self.record_bytes, self.batch)
        return ["" if value is None else str(value) for value in values]


@dataclass(frozen=True)
class Gate:
    """The required value of a figure, and the target beyond it."""

    limit: float
    at_least: bool = False
    goal: float | None = None

    def is_met(self, value: float) -> bool:
        """Returns true if the figure meets the requirement."""
        return value >= self.limit if self.at_least else value <= self.limit

    def __str__(self) -> str:
        """The requirement as shown in the table."""
        sign = "≥" if self.at_least else "≤"
        goal = "" if self.goal is None else f", goal {self.goal:g}"
        return f"{sign} {self.limit:g}{goal}"


def at_least(limit: float, goal: float | None = None) -> Gate:
    """Returns a gate for a figure that should be high."""
    return Gate(limit, at_least=True, goal=goal)


def at_most(limit: float, goal: float | None = None) -> Gate:
    """Returns a gate for a figure that should be low."""
    return Gate(limit, goal=goal)


@dataclass(frozen=True)
class Figure:
    """A measured value of a row."""

    row: str
    name: str
    value: float
    work: Work = Work()
    gate: Gate | None = None
    low: float | None = None
    high: float | None = None

    @property
    def verdict(self) -> str:
        """The result of the gate; None without a gate."""
        if self.gate is None:
            return ""
        return "met" if self.gate.is_met(self.value) else "NOT MET"

    def cells(self) -> list[str]:
        """The cells of its line in the table."""
        value = plain(self.value)
        if self.low is not None and self.high is not None:
            value += f" ({plain(self.low)} to {plain(self.high)})"
        gate = "" if self.gate is None else str(self.gate)
        return [self.row, *self.work.cells(), self.name, value, gate, self.verdict]

    def as_json(self) -> dict[str, object]:
        """Its JSON form."""
        return {**dataclasses.asdict(self), "verdict": self.verdict}


HEADINGS = [
    *("row", "promise", "client", "in flight", "bytes", "batch"),
    *("figure", "value", "gate", "verdict"),
]


def plain(value: float) -> str:
    """Formats a number with three significant digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def table(figures: Iterable[Figure]) -> Iterator[str]:
    """Yields the lines of a table that shows the circumstances of a row once."""
    lines = [HEADINGS, *(figure.cells() for figure in figures)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    said_once = HEADINGS.index("figure")
    above: list[str] = []
    for line in lines:
        repeated = said_once if line[:said_once] == above[:said_once] else 0
        cells = ["" if column < repeated else cell for column, cell in enumerate(line)]
        yield "  ".join(c.ljust(width) for c, width in zip(cells, widths, strict=True)).rstrip()
        if line is HEADINGS:
            yield "  ".join("-" * width for width in widths)
        above = line
