"""The start and the end of a read: an end of the log, offsets, times, or a group's offsets.

The options are Kafka's, and so is their precedence: a time for all partitions, then times of
partitions, then offsets.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from streamlog.errors import ConfigError
from streamlog.spark.options import Options, misfit
from streamlog.spark.reading.logs import Logs, time_of
from streamlog.spark.reading.offsets import EARLIEST, LATEST, Offsets, TopicPartition, parsed, whole
from streamlog.spark.reading.times import time_ms

__all__ = [
    "ENDING",
    "STARTING",
    "AtOffsets",
    "Point",
    "check_partitions",
    "ending",
    "resolve",
    "starting",
]

STARTING = (
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "startingOffsets",
    "startingOffsetsByTimestampStrategy",
)
ENDING = ("endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets")
_GROUP = "group:"


@dataclass(frozen=True)
class AtEnd:
    """An end of every log."""

    which: Literal["earliest", "latest"]


@dataclass(frozen=True)
class AtOffsets:
    """An offset of each partition; -2 and -1 are the ends."""

    option: str
    offsets: tuple[tuple[TopicPartition, int], ...]


@dataclass(frozen=True)
class AtTimes:
    """The first record at or after a time: the same for all partitions, or one for each."""

    option: str
    time_ms: int | None
    times: tuple[tuple[TopicPartition, int], ...] = ()
    otherwise: Literal["error", "latest"] = "latest"
    """The treatment of partitions without such a record."""


@dataclass(frozen=True)
class AtGroup:
    """The committed offsets of a group; the earliest offset where there is none."""

    group: str


Point: TypeAlias = AtEnd | AtOffsets | AtTimes | AtGroup


def starting(options: Options, is_stream: bool) -> Point:
    """Parses the start of a read.

    Raises:
        ConfigError: An option is invalid.
    """
    words = ("error", "latest")
    strategy = options.word("startingOffsetsByTimestampStrategy", words, "error")
    otherwise: Literal["error", "latest"] = "latest" if strategy == "latest" else "error"
    by_time = _at_times(options, STARTING, otherwise)
    if by_time is not None:
        return by_time
    text = options.text("startingOffsets", "latest" if is_stream else "earliest") or ""
    if text.lower() == "latest" and not is_stream:
        raise misfit("startingOffsets", text, "anything but the end: a batch read would be empty")
    point = _at_offsets("startingOffsets", text)
    if not is_stream and isinstance(point, AtOffsets) and LATEST in dict(point.offsets).values():
        raise misfit("startingOffsets", text, "no -1, the end: a batch read would be empty")
    return point


def ending(options: Options) -> Point:
    """Parses the end of a batch read.

    Raises:
        ConfigError: An option is invalid.
    """
    by_time = _at_times(options, ENDING, "latest")
    if by_time is not None:
        return by_time
    text = options.text("endingOffsets", "latest") or ""
    if text.lower() in ("earliest", "") or text.lower().startswith(_GROUP):
        raise misfit("endingOffsets", text, "'latest' or offsets as JSON")
    point = _at_offsets("endingOffsets", text)
    if isinstance(point, AtOffsets) and EARLIEST in dict(point.offsets).values():
        raise misfit("endingOffsets", text, "no -2, the beginning: the read would be empty")
    return point


def _at_times(
    options: Options, names: tuple[str, ...], otherwise: Literal["error", "latest"]
) -> AtTimes | None:
    for_all, by_partition = names[0], names[1]
    text = options.text(for_all)
    if text is not None:
        return AtTimes(for_all, time_ms(for_all, text), (), otherwise)
    text = options.text(by_partition)
    if text is None:
        return None

    def time_in(given: object) -> int:
        return time_ms(by_partition, given)

    times = parsed(by_partition, text, time_in, "a time")
    return AtTimes(by_partition, None, tuple(times.items()), otherwise)


def _at_offsets(option: str, text: str) -> Point:
    if text.lower() == "earliest":
        return AtEnd("earliest")
    if text.lower() == "latest":
        return AtEnd("latest")
    if text.lower().startswith(_GROUP):
        group = text[len(_GROUP) :].strip()
        if not group:
            raise misfit(option, text, "group:NAME")
        return AtGroup(group)
    if not text.startswith("{"):
        raise misfit(option, text, 'earliest, latest, group:NAME or JSON as {"topic":{"0":123}}')
    return AtOffsets(option, tuple(parsed(option, text, whole).items()))


def resolve(point: Point, logs: Logs, ends: Offsets) -> Offsets:
    """Resolves a point to offsets of the partitions in `ends`.

    Raises:
        ConfigError: It names other partitions or leaves some out, or a partition has no record at
            or after the time and that is an error.
    """
    match point:
        case AtEnd("latest"):
            return dict(ends)
        case AtEnd():
            return _begins(logs, ends)
        case AtGroup(group):
            committed = logs.committed(group)
            begins = _begins(logs, ends)
            return {place: committed.get(place, begins[place]) for place in begins}
        case AtOffsets(option, rows):
            return _known(option, dict(rows), logs, ends)
        case AtTimes(option, time, rows):
            times = dict(rows) if time is None else dict.fromkeys(ends, time)
            _check_same(option, times, ends)
            return _at_time(point, times, logs, ends)


def check_partitions(point: Point, ends: Offsets) -> None:
    """Checks that a point names exactly the partitions in `ends`.

    Raises:
        ConfigError: It names other partitions, or leaves some out.
    """
    match point:
        case AtOffsets(option, rows) | AtTimes(option, None, rows):
            _check_same(option, dict(rows), ends)


def _begins(logs: Logs, ends: Offsets) -> Offsets:
    begins = logs.begins({topic for topic, _ in ends})
    return {place: begins.get(place, 0) for place in ends}


def _known(option: str, offsets: Offsets, logs: Logs, ends: Offsets) -> Offsets:
    _check_same(option, offsets, ends)
    begins = _begins(logs, ends) if EARLIEST in offsets.values() else {}
    meanings = {EARLIEST: begins, LATEST: ends}
    return {
        place: meanings[offset][place] if offset in meanings else offset
        for place, offset in offsets.items()
    }


def _check_same(option: str, given: Iterable[TopicPartition], ends: Offsets) -> None:
    for words, places in (
        ("is not read", set(given) - set(ends)),
        ("is missing", set(ends) - set(given)),
    ):
        if places:
            topic, partition = min(places)
            raise ConfigError(f"option '{option}': partition {partition} of '{topic}' {words}")


def _at_time(
    point: AtTimes, times: dict[TopicPartition, int], logs: Logs, ends: Offsets
) -> Offsets:
    # A request returns the offsets of all partitions of a topic: make one for each time.
    asked = {(topic, times[topic, partition]) for topic, partition in ends}
    answers = {of: logs.at(*of) for of in sorted(asked)}
    found: Offsets = {}
    for place, end in ends.items():
        time = times[place]
        offset = answers[place[0], time].get(place)
        if offset is None and point.otherwise == "error":
            raise _none_so_late(point.option, place, time)
        found[place] = end if offset is None else min(offset, end)
    return found


def _none_so_late(option: str, place: TopicPartition, time_ms: int) -> ConfigError:
    topic, partition = place
    words = f"option '{option}': no record of topic '{topic}', partition {partition}"
    hint = "startingOffsetsByTimestampStrategy=latest begins at the end then"
    return ConfigError(f"{words}, is of {time_of(time_ms).isoformat()} or later; {hint}")
