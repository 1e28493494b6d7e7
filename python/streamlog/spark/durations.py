"""Durations in the syntax of Spark's intervals: ``10 seconds``, ``1 hour 30 minutes``.

They are parsed before Spark starts, and by its rules, because Spark checks some of them late and
the gap of a session window hardly at all: an unknown unit makes it null, and the rows are lost.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches

from streamlog.errors import ConfigError

__all__ = ["Duration"]

_MICROSECONDS = {
    "microsecond": 1,
    "millisecond": 1000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_SHORT = {"us": "microsecond", "ms": "millisecond", "s": "second", "m": "minute", "h": "hour"}
_SHORT |= {"d": "day", "w": "week", "sec": "second", "min": "minute", "hr": "hour"}
_UNEVEN = ("month", "year")
_PART = re.compile(r"\+?\s*(\d+\.?\d*|\.\d+)\s*([a-z]*)(\s+|$)")
_MOST = 2**63 - 1


@dataclass(frozen=True)
class Duration:
    """A non-negative duration."""

    text: str
    """The text for Spark, in a setting and in SQL."""
    microseconds: int

    @classmethod
    def of(cls, text: str, name: str = "", *, beside: str = "") -> "Duration":
        """Parses a number and a unit, or a sum of several.

        Args:
            text: Microseconds to weeks, in the singular or the plural; seconds may have a fraction.
            name: The name of the setting, for the error.
            beside: Other accepted values, for the error.

        Raises:
            ConfigError: The text is not a duration; the error has the nearest unit.

        Example:
            >>> from streamlog.spark.durations import Duration
            >>> Duration.of("1 hour 30 Minutes")
            Duration(text='1 hour 30 minutes', microseconds=5400000000)
        """
        begin = f"{name}: " if name else ""
        rest = text.strip().lower().removeprefix("interval ").lstrip()
        words: list[str] = []
        total = Decimal(0)
        while rest or not words:
            part = _PART.match(rest)
            fault = _fault(part)
            if part is None or fault is not None:
                expected = f"expected {beside}as '10 seconds'"
                raise ConfigError(f"{begin}'{text}' does not fit, {expected}{fault or ''}")
            words += part[1], part[2]
            total += Decimal(part[1]) * _MICROSECONDS[_singular(part[2])]
            rest = rest[part.end() :]
        if total > _MOST:
            raise ConfigError(f"{begin}'{text}' does not fit: it is longer than 290,000 years")
        return cls(" ".join(words), int(total))

    def __str__(self) -> str:
        """The text for Spark."""
        return self.text


def _singular(unit: str) -> str:
    return unit.removesuffix("s") if len(unit) > 2 else unit


def _fault(part: "re.Match[str] | None") -> str | None:
    """Returns the fault in a number and its unit, as the end of a sentence."""
    if part is None or not part[2]:
        return ""
    unit = _singular(part[2])
    if unit in _UNEVEN:
        return f": a {unit} is not always as long as another, say it in days"
    if unit not in _MICROSECONDS:
        nearest = [_SHORT[unit]] if unit in _SHORT else get_close_matches(unit, _MICROSECONDS, n=1)
        plural = "" if part[1] == "1" else "s"
        return f"; did you mean '{part[1]} {nearest[0]}{plural}'?" if nearest else ""
    if "." in part[1] and unit != "second":
        return ": only seconds have a fraction"
    return None
