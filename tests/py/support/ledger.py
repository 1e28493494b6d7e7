"""The acknowledgements and reads of several clients, and their comparison with a log.

A record's value consists of the name of its producer and a number that increases for each producer
and partition. So the log alone shows records that are missing, duplicated or out of order.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

Slot = tuple[str, int]
"""A topic and a partition number."""

Rows = list[bytes]
"""The values of a partition, by offset."""


def value_of(producer: str, number: int, padding: int) -> bytes:
    """Returns the value of a producer's record with this number."""
    return f"{producer} {number} ".encode().ljust(padding, b".")


def origin_of(value: bytes) -> tuple[str, int]:
    """Returns the producer of a record, and its number."""
    producer, number, _ = value.split(b" ", 2)
    return producer.decode(), int(number)


@dataclass
class Sent:
    """The records sent by a producer, and their acknowledgements. Written by its thread only."""

    retries_are_known: bool
    """True if the broker recognises retries, so that no record may be stored twice."""

    counts: dict[Slot, int] = field(default_factory=lambda: defaultdict(int))
    acknowledged: dict[Slot, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    """The acknowledged offset of each number; negative without an acknowledgement."""


@dataclass
class Seen:
    """The records read by a consumer, by offset, as hashes. Written by its thread only."""

    values: dict[Slot, list[int]] = field(default_factory=lambda: defaultdict(list))


def faults(log: dict[Slot, Rows], sent: dict[str, Sent], seen: dict[str, Seen]) -> Iterator[str]:
    """Yields all violations of the guarantees in the log."""
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
    """Yields records of a producer and partition that are lost, out of order, or duplicated."""
    for number, told in account.acknowledged[slot].items():
        if number not in copies:
            yield f"{number} is lost, acknowledged at {told}"
        elif told >= 0 and told != copies[number][-1]:
            # A client does not retry an acknowledged record: its last copy is acknowledged.
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
    """Yields records that were read and are now missing or different."""
    if len(values) > len(rows):
        yield f"{len(values)} records were seen and {len(rows)} are there"
    for offset, (value, row) in enumerate(zip(values, rows, strict=False)):
        if value != hash(row):
            yield f"another record was seen at offset {offset} than {row[:40]!r}"
