"""Validation of arguments that count messages."""

import sys
from collections.abc import Iterator
from itertools import islice
from operator import index
from typing import SupportsIndex, TypeVar

from streamlog.errors import ConfigError

__all__ = ["checked", "limited"]

_T = TypeVar("_T")


def checked(name: str, count: SupportsIndex) -> int:
    """Returns `count`, the value of the argument `name`, as an int.

    Raises:
        ConfigError: It is negative, too large, or not an integer.
    """
    try:
        number = index(count)
    except TypeError:
        number = -1
    if not 0 <= number <= sys.maxsize:
        expected = "a whole number of 64 bits, not negative"
        raise ConfigError(f"{name}: invalid value '{count}': expected {expected}")
    return number


def limited(messages: Iterator[_T], limit: int | None) -> Iterator[_T]:
    """Returns an iterator over the first `limit` messages, or over all without a limit.

    Raises:
        ConfigError: The limit is not a valid count.
    """
    return islice(messages, None if limit is None else checked("limit", limit))
