"""The batches in a partition's first segment, read from the broker's disk.

That a client got its records back does not say that it compressed them, or numbered them.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from interop.support.features import CODECS

# base offset i64 · length i32 · leader epoch i32 · magic i8 · crc u32 · attributes i16
# · last offset delta i32 · two timestamps i64 · producer id i64
_HEAD = struct.Struct(">qiibIhiqqq")
_LENGTH_END = 12
_CODEC_BITS = 0b111
_CODEC_NUMBERS = {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
assert set(_CODEC_NUMBERS.values()) == set(CODECS)


@dataclass(frozen=True)
class Batch:
    """The header of a batch."""

    codec: str
    producer_id: int


def batches(data_dir: Path, topic: str) -> Iterator[Batch]:
    """The batches of the only partition, in order."""
    data = (data_dir / f"{topic}-0" / f"{0:020}.log").read_bytes()
    position = 0
    while position + _HEAD.size <= len(data):
        _, length, _, magic, _, attributes, *_, producer_id = _HEAD.unpack_from(data, position)
        assert magic == 2, f"magic {magic} at {position}"
        yield Batch(_CODEC_NUMBERS[attributes & _CODEC_BITS], producer_id)
        position += _LENGTH_END + length
