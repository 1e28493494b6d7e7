"""Durations of jobs and functions: ``10 seconds``, ``1h30m``.

They are parsed before Spark starts, and passed to it in the syntax of SQL, because Spark checks
some durations late. It hardly checks the gap of a session window: an unknown unit makes the gap
null, and the rows are lost.
"""

import re
from dataclasses import dataclass
from difflib import get_close_matches

from streamlog._core.texts import interval
from streamlog.errors import ConfigError

__all__ = ["Duration"]

_UNITS = ("microseconds", "milliseconds", "seconds", "minutes", "hours", "days", "weeks")
_UNEVEN = ("month", "year")


@dataclass(frozen=True)
class Duration:
    """A duration of zero or more."""

    text: str
    """The text for Spark, in a setting and in SQL."""
    microseconds: int

    @classmethod
    def of(cls, text: str, name: str = "", *, beside: str = "") -> "Duration":
        """Parses a number and a unit, or several of both from the largest unit to the smallest.

        Args:
            text: Microseconds to weeks, as words or as symbols: ``us``, ``ms``, ``s``, ``m``,
                ``h``, ``d``, ``w``.
            name: The name of the setting, for the error.
            beside: Other accepted values, for the error.

        Raises:
            ConfigError: The text is not a duration; the error has the nearest unit.

        Example:
            >>> from streamlog.spark.durations import Duration
            >>> Duration.of("1h 30 Minutes")
            Duration(text='1 hour 30 minutes', microseconds=5400000000)
        """
        words = text.strip().lower().removeprefix("interval ")
        found = interval(words)
        if found is None:
            begin = f"{name}: " if name else ""
            expected = f"expected {beside}as '10 seconds'"
            raise ConfigError(f"{begin}invalid value '{text}': {expected}{_hint(words)}")
        microseconds, spelled = found
        return cls(spelled, microseconds)

    def __str__(self) -> str:
        """The text for Spark."""
        return self.text


def _hint(text: str) -> str:
    """Returns the end of an error message about the first invalid unit; empty without a hint."""
    for unit in re.findall("[a-z]+", text):
        singular = unit.removesuffix("s")
        if singular in _UNEVEN:
            return f": a {singular} is not always as long as another, say it in days"
        if interval(f"1 {unit}") is None:
            nearest = get_close_matches(unit, _UNITS, n=1)
            return f"; did you mean '{nearest[0]}'?" if nearest else ""
    return ""
