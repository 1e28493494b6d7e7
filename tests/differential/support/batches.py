"""Record batches: made by hand, so that they can be wrong, and shown by their fields."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from crc32c import crc32c

from interop.support.records import Json

HEADER = struct.Struct(">qiibIhiqqqhii")
NAMES = (
    "baseOffset",
    "batchLength",
    "partitionLeaderEpoch",
    "magic",
    "crc",
    "attributes",
    "lastOffsetDelta",
    "baseTimestamp",
    "maxTimestamp",
    "producerId",
    "producerEpoch",
    "baseSequence",
    "recordsCount",
)
# Where the bytes begin that the checksum covers.
COVERED = 21
LOG_APPEND_TIME = 8
TIME = 1_700_000_000_000


@dataclass(frozen=True)
class Producer:
    """The fields that an idempotent producer writes into a batch."""

    id: int = -1
    epoch: int = -1
    sequence: int = -1


NOBODY = Producer()


def batch(
    values: Sequence[bytes | None],
    *,
    key: bytes | None = b"k",
    time: int = TIME,
    producer: Producer = NOBODY,
    **header: int,
) -> bytes:
    """A batch of records a millisecond apart; `header` puts other values into its fields."""
    rows = [Row(value, key, delta) for delta, value in enumerate(values)]
    return batch_of(rows, time=time, producer=producer, **header)


@dataclass(frozen=True)
class Row:
    """One record of a batch: `after` is its time behind that of the batch."""

    value: bytes | None = b"x"
    key: bytes | None = b"k"
    after: int = 0


def batch_of(
    rows: Sequence[Row], *, time: int = TIME, producer: Producer = NOBODY, **header: int
) -> bytes:
    """A batch of these records; `header` puts other values into its fields."""
    header = {"maxTimestamp": time + max((row.after for row in rows), default=0)} | header
    return batch_around(encoded(rows), len(rows), time=time, producer=producer, **header)


def encoded(rows: Sequence[Row]) -> bytes:
    """The records as a batch has them, not compressed."""
    return b"".join(_record(delta, row) for delta, row in enumerate(rows))


def batch_around(
    records: bytes, count: int, *, time: int = TIME, producer: Producer = NOBODY, **header: int
) -> bytes:
    """A batch of so many records, which are encoded and perhaps compressed."""
    fields = {
        "baseOffset": 0,
        "batchLength": HEADER.size - 12 + len(records),
        "partitionLeaderEpoch": -1,
        "magic": 2,
        "crc": 0,
        "attributes": 0,
        "lastOffsetDelta": count - 1,
        "baseTimestamp": time,
        "maxTimestamp": time,
        "producerId": producer.id,
        "producerEpoch": producer.epoch,
        "baseSequence": producer.sequence,
        "recordsCount": count,
    } | header
    if "crc" not in header:
        covered = HEADER.pack(*(fields[name] for name in NAMES))[COVERED:] + records
        fields["crc"] = crc32c(covered)
    return HEADER.pack(*(fields[name] for name in NAMES)) + records


def _record(delta: int, row: Row) -> bytes:
    times = _varint(row.after) + _varint(delta)
    body = b"\0" + times + _bytes(row.key) + _bytes(row.value) + _varint(0)
    return _varint(len(body)) + body


def _bytes(data: bytes | None) -> bytes:
    return _varint(-1) if data is None else _varint(len(data)) + data


def _varint(number: int) -> bytes:
    zigzag = number << 1 if number >= 0 else (-number << 1) - 1
    out = bytearray()
    while zigzag > 0x7F:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    return bytes([*out, zigzag])


def shown(data: bytes) -> list[Json]:
    """The batches in these bytes; the last one may be cut short."""
    batches: list[Json] = []
    while len(data) >= HEADER.size:
        fields: Json = dict(zip(NAMES, HEADER.unpack_from(data), strict=True))
        end = 12 + fields["batchLength"]
        fields["bytes"] = data[HEADER.size : end].hex()
        if fields["attributes"] & LOG_APPEND_TIME:
            fields |= {"maxTimestamp": "<time>", "crc": "<of a time>"}
        batches.append(fields)
        data = data[end:]
    if data:
        batches.append({"bytesOfAnother": len(data)})
    return batches
