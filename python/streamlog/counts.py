"""Numbers of messages, as arguments have them."""

import sys
from collections.abc import Iterator
from itertools import islice
from operator import index
from typing import SupportsIndex, TypeVar

from streamlog.errors import ConfigError

__all__ = ["checked", "limited"]

_T = TypeVar("_T")


def checked(name: str, count: SupportsIndex) -> int:
    """The count that the argument `name` is.

    Raises:
        ConfigError: It is none.
    """
    try:
        number = index(count)
    except TypeError:
        number = -1
    if not 0 <= number <= sys.maxsize:
        expected = "a whole number of 64 bits, not negative"
        raise ConfigError(f"{name}: '{count}' does not fit: expected {expected}")
    return number


def limited(messages: Iterator[_T], limit: int | None) -> Iterator[_T]:
    """The first messages, as many as `limit` says.

    Raises:
        ConfigError: The limit is no count.
    """
    return islice(messages, None if limit is None else checked("limit", limit))
