"""Offsets of several partitions, and their JSON form for Spark and its users.

The form is that of Kafka's own source, ``{"topic":{"0":123}}``, in options and in checkpoints.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

from streamlog.errors import ConfigError

__all__ = ["EARLIEST", "LATEST", "Nested", "Offsets", "TopicPartition", "flat", "nested", "parsed"]

_T = TypeVar("_T")

TopicPartition: TypeAlias = tuple[str, int]
"""A topic, and a partition number."""
Offsets: TypeAlias = dict[TopicPartition, int]
Nested: TypeAlias = dict[str, dict[str, int]]
"""Offsets in JSON's form."""

EARLIEST = -2
"""The first offset, in options."""
LATEST = -1
"""The offset after the last record, in options."""

_EXPECTED = 'expected JSON as {"topic":{"0":123}}'


def nested(offsets: Mapping[TopicPartition, int]) -> Nested:
    """Returns offsets in JSON's form, sorted by topic and partition.

    Example:
        >>> from streamlog.spark.reading.offsets import nested
        >>> nested({("orders", 1): 7, ("orders", 0): 5})
        {'orders': {'0': 5, '1': 7}}
    """
    found: Nested = {}
    for (topic, partition), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[str(partition)] = offset
    return found


def flat(offsets: Mapping[str, Mapping[str, int]]) -> Offsets:
    """Returns the inverse of ``nested``.

    Example:
        >>> from streamlog.spark.reading.offsets import flat
        >>> flat({"orders": {"0": 5}})
        {('orders', 0): 5}
    """
    return {
        (topic, int(partition)): offset
        for topic, partitions in offsets.items()
        for partition, offset in partitions.items()
    }


def parsed(
    option: str, text: str, value: Callable[[Any], _T], what: str = "an offset"
) -> dict[TopicPartition, _T]:
    """Parses an option with a value for each partition, each parsed by `value`.

    Raises:
        ConfigError: It is not such JSON; the message names the position.

    Example:
        >>> from streamlog.spark.reading.offsets import parsed
        >>> parsed("startingOffsets", '{"orders":{"0":5}}', int)
        {('orders', 0): 5}
    """
    found = {}
    for topic, partitions in _objects(option, text):
        if not isinstance(partitions, dict):
            raise ConfigError(f"option '{option}': '{topic}' has no partitions: {_EXPECTED}")
        for partition, given in partitions.items():
            if not re.fullmatch(r"\d+", partition):
                words = f"option '{option}': '{partition}' of '{topic}' is no partition"
                raise ConfigError(f"{words}: {_EXPECTED}")
            try:
                found[topic, int(partition)] = value(given)
            except (TypeError, ValueError):
                place = f"of '{topic}', partition {partition}"
                words = f"option '{option}': invalid value {given!r} {place}: expected {what}"
                raise ConfigError(words) from None
    return found


def listed(option: str, text: str) -> list[TopicPartition]:
    """Parses a list of partitions, ``{"topic":[0,1]}``.

    Raises:
        ConfigError: It is not such JSON.

    Example:
        >>> from streamlog.spark.reading.offsets import listed
        >>> listed("assign", '{"orders":[0,2]}')
        [('orders', 0), ('orders', 2)]
    """
    found = []
    for topic, partitions in _objects(option, text):
        numbers = partitions if isinstance(partitions, list) else [None]
        for number in numbers:
            if not isinstance(number, int) or number < 0:
                words = f"option '{option}': '{topic}' has no list of partitions"
                raise ConfigError(f'{words}: expected JSON as {{"topic":[0,1]}}')
            found.append((topic, number))
    if not found:
        raise ConfigError(f"option '{option}': names no partition: expected {{\"topic\":[0,1]}}")
    return found


def _objects(option: str, text: str) -> list[tuple[str, Any]]:
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ConfigError(f"option '{option}': {error.msg} at {place}: {_EXPECTED}") from None
    if not isinstance(found, dict):
        raise ConfigError(f"option '{option}': {text} is no object: {_EXPECTED}")
    return list(found.items())


def whole(given: object) -> int:
    """Parses an offset in an option: a number, or -1 or -2.

    Raises:
        ValueError: It is not an offset.
    """
    if isinstance(given, bool) or not isinstance(given, int) or given < EARLIEST:
        raise ValueError(given)
    return given
