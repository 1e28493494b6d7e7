"""Times in options: milliseconds since 1970, ISO 8601, or a duration before now."""

import re
import time
from datetime import datetime

from streamlog.errors import ConfigError
from streamlog.spark.options import duration, misfit

__all__ = ["time_ms"]

_EXPECTED = "milliseconds since 1970, an ISO time with its zone, or a stretch before now as -1h"
_LAST_MS = 253_402_300_799_999
"""The end of the year 9999; a later time indicates another unit."""


def time_ms(option: str, given: object) -> int:
    """Returns the milliseconds since 1970 of an option's value.

    Raises:
        ConfigError: It is not a time, or has no time zone.

    Example:
        >>> from streamlog.spark.reading.times import time_ms
        >>> time_ms("startingTimestamp", "2026-11-01T00:00:00+00:00")
        1793491200000
    """
    text = str(given).strip()
    if re.fullmatch(r"\d+", text):
        if int(text) > _LAST_MS:
            raise misfit(option, text, "milliseconds since 1970, before the year 10000")
        return int(text)
    if text.startswith("-"):
        try:
            back = duration(option, text[1:])
        except ConfigError:
            raise misfit(option, text, _EXPECTED) from None
        return max(0, int((time.time() - back) * 1000))
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise misfit(option, text, _EXPECTED) from None
    if found.tzinfo is None:
        raise misfit(option, text, "a time with its zone, as 2026-11-01T00:00:00Z")
    return int(found.timestamp() * 1000)
