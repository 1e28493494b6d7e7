"""What the world was told of the records of several producers, and whether a log agrees with it.

A record's value begins with the name of its producer and a number that rises by one per producer
and partition. So the log alone tells what is missing, twice there or out of order.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

Slot = tuple[str, int]
"""A topic and the number of one of its partitions."""

Rows = list[bytes]
"""The values of one partition, by offset."""


def value_of(producer: str, number: int, padding: int) -> bytes:
    """The value of a producer's record with this number."""
    return f"{producer} {number} ".encode().ljust(padding, b".")


def origin_of(value: bytes) -> tuple[str, int]:
    """The producer of a record, and its number there."""
    producer, number, _ = value.split(b" ", 2)
    return producer.decode(), int(number)


@dataclass
class Sent:
    """What one producer sent and heard of it. Only its own thread writes here."""

    retries_are_known: bool
    """Whether the broker tells its retries from new records: then nothing of it is there twice."""

    counts: dict[Slot, int] = field(default_factory=lambda: defaultdict(int))
    acknowledged: dict[Slot, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    """The offset that each number was acknowledged with; negative where none was told."""


@dataclass
class Seen:
    """What one consumer saw, by offset, as hashes. Only its own thread writes here."""

    values: dict[Slot, list[int]] = field(default_factory=lambda: defaultdict(list))


def faults(log: dict[Slot, Rows], sent: dict[str, Sent], seen: dict[str, Seen]) -> Iterator[str]:
    """Everything in which the log breaks what was promised."""
    for slot, rows in log.items():
        copies: dict[str, dict[int, list[int]]] = {name: defaultdict(list) for name in sent}
        for offset, value in enumerate(rows):
            producer, number = origin_of(value)
            copies[producer][number].append(offset)
        for name, account in sent.items():
            for fault in _broken(slot, copies[name], account):
                yield f"{name} at {slot}: {fault}"
        for name, consumer in seen.items():
            for fault in _withdrawn(rows, consumer.values[slot]):
                yield f"{name} at {slot}: {fault}"


def _broken(slot: Slot, copies: dict[int, list[int]], account: Sent) -> Iterator[str]:
    """Records of one producer and partition that are lost, out of order, or there too often."""
    for number, told in account.acknowledged[slot].items():
        if number not in copies:
            yield f"{number} is lost, acknowledged at {told}"
        elif told >= 0 and told != copies[number][-1]:
            # Nobody sends again what was acknowledged: it is the last copy that was.
            yield f"{number} was acknowledged at {told} and is at {copies[number]}"
    before = -1
    for number in range(account.counts[slot]):
        first = copies.get(number, [before])[0]
        if first < before:
            yield f"{number} is at {first}, before {number - 1} at {before}"
        before = first
    for number, offsets in copies.items():
        if account.retries_are_known and len(offsets) > 1:
            yield f"{number} is there {len(offsets)} times: {offsets}"


def _withdrawn(rows: Rows, values: list[int]) -> Iterator[str]:
    """What was seen and is not there, at its offset and as it was."""
    if len(values) > len(rows):
        yield f"{len(values)} records were seen and {len(rows)} are there"
    for offset, (value, row) in enumerate(zip(values, rows, strict=False)):
        if value != hash(row):
            yield f"another record was seen at offset {offset} than {row[:40]!r}"
