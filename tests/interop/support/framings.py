"""The framings in which a codec's format allows the same records, written as other programs may."""

import gzip
import io
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import lz4.block
import lz4.frame
import snappy
import zstandard

from differential.support.batches import Row, encoded
from interop.support.records import Record

CODECS = {"gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
# More than one block of every codec, of which some cannot be compressed.
RECORDS = [Record(b"k", b"value %d, " % n * (n % 50)) for n in range(2_000)]
RECORDS += [Record(b"k", b"".join(zlib.adler32(b"%d" % n).to_bytes(4) for n in range(50_000)))]
BYTES = encoded([Row(record.value, record.key) for record in RECORDS])
HALF = len(BYTES) // 2

_SKIPPABLE = struct.pack("<II", 0x184D2A50, 4) + b"skip"
_JAVA = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)


@dataclass(frozen=True)
class Framing:
    """One form of a compressed stream."""

    codec: str
    name: str
    stream: Callable[[], bytes]
    """Returns `BYTES` in this form."""
    is_stored: bool = True
    """False if the broker refuses it, because some client could not read it."""

    @property
    def cell(self) -> str:
        """The cell of a client that reads it."""
        return f"read {self.codec} in {self.name}"

    @property
    def number(self) -> int:
        """The number of the codec in a batch's attributes."""
        return CODECS[self.codec]


def _with_all_fields() -> bytes:
    head = b"\x1f\x8b\x08\x1e" + bytes(4) + b"\0\xff"
    head += struct.pack("<H", 6) + b"ab\x02\0xy" + b"name\0" + b"comment\0"
    head += struct.pack("<H", zlib.crc32(head) & 0xFFFF)
    packer = zlib.compressobj(wbits=-15)
    tail = struct.pack("<II", zlib.crc32(BYTES), len(BYTES))
    return head + packer.compress(BYTES) + packer.flush() + tail


def _java_snappy(size: int) -> bytes:
    blocks = [snappy.compress(BYTES[at : at + size]) for at in range(0, len(BYTES), size)]
    return _JAVA + b"".join(struct.pack(">i", len(block)) + block for block in blocks)


def _standard_snappy() -> bytes:
    return bytes(snappy.StreamCompressor().compress(BYTES))


def _lz4(data: bytes = BYTES, *, size: int = lz4.frame.BLOCKSIZE_MAX64KB, **form: bool) -> bytes:
    settings = {"block_linked": False, "store_size": False} | form
    return bytes(lz4.frame.compress(data, block_size=size, **settings))


def _legacy_lz4() -> bytes:
    block = bytes(lz4.block.compress(BYTES, store_size=False))
    return struct.pack("<II", 0x184C2102, len(block)) + block


def _zstd(data: bytes = BYTES, *, size: bool = True, checksum: bool = False) -> bytes:
    packer = zstandard.ZstdCompressor(write_content_size=size, write_checksum=checksum)
    return packer.compress(data)


def _zstd_with_window(log: int) -> bytes:
    settings = zstandard.ZstdCompressionParameters.from_level(
        3, window_log=log, write_content_size=False
    )
    packer = zstandard.ZstdCompressor(compression_params=settings).compressobj()
    return packer.compress(BYTES) + packer.flush()


def _zstd_with_dictionary_id() -> bytes:
    """A frame that names a dictionary, which no reader has."""
    magic, (descriptor, *rest) = _zstd()[:4], _zstd()[4:]
    has_window = not descriptor & 0x20
    head = bytes([descriptor | 1, *rest[:has_window], 7])
    return magic + head + bytes(rest[has_window:])


def _gzip_with_level_0() -> bytes:
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=0) as file:
        file.write(BYTES)
    return out.getvalue()


def _refused(codec: str, name: str, stream: Callable[[], bytes]) -> Framing:
    return Framing(codec, name, stream, is_stored=False)


FRAMINGS = (
    Framing("gzip", "one member", lambda: gzip.compress(BYTES)),
    Framing("gzip", "one member, not compressed", _gzip_with_level_0),
    Framing("gzip", "one member with every optional field", _with_all_fields),
    _refused(
        "gzip", "two members", lambda: gzip.compress(BYTES[:HALF]) + gzip.compress(BYTES[HALF:])
    ),
    _refused(
        "gzip", "an empty member and another", lambda: gzip.compress(b"") + gzip.compress(BYTES)
    ),
    _refused("gzip", "one member and zeros", lambda: gzip.compress(BYTES) + bytes(8)),
    Framing("snappy", "Java's framing, blocks of 32 KiB", lambda: _java_snappy(32 << 10)),
    Framing("snappy", "Java's framing, one block", lambda: _java_snappy(len(BYTES))),
    Framing("snappy", "one bare block", lambda: bytes(snappy.compress(BYTES))),
    _refused("snappy", "the standard framing", _standard_snappy),
    _refused("snappy", "Java's framing and zeros", lambda: _java_snappy(32 << 10) + bytes(8)),
    _refused("snappy", "one bare block and zeros", lambda: snappy.compress(BYTES) + bytes(8)),
    Framing("lz4", "independent blocks of 64 KiB", _lz4),
    Framing("lz4", "independent blocks of 4 MiB", lambda: _lz4(size=lz4.frame.BLOCKSIZE_MAX4MB)),
    Framing("lz4", "blocks with checksums", lambda: _lz4(block_checksum=True)),
    Framing("lz4", "a frame with a checksum", lambda: _lz4(content_checksum=True)),
    Framing("lz4", "a frame with its size", lambda: _lz4(store_size=True)),
    _refused("lz4", "linked blocks", lambda: _lz4(block_linked=True)),
    _refused("lz4", "two frames", lambda: _lz4(BYTES[:HALF]) + _lz4(BYTES[HALF:])),
    _refused("lz4", "a skippable frame and another", lambda: _SKIPPABLE + _lz4()),
    _refused("lz4", "a frame and zeros", lambda: _lz4() + bytes(8)),
    _refused("lz4", "the legacy frame", _legacy_lz4),
    Framing("zstd", "a frame with its size", _zstd),
    Framing("zstd", "a frame without its size", lambda: _zstd(size=False)),
    Framing("zstd", "a frame with a checksum", lambda: _zstd(checksum=True)),
    Framing("zstd", "a window of 8 MiB", lambda: _zstd_with_window(23)),
    Framing("zstd", "a window of 128 MiB", lambda: _zstd_with_window(27)),
    _refused("zstd", "a window of 256 MiB", lambda: _zstd_with_window(28)),
    _refused("zstd", "two frames", lambda: _zstd(BYTES[:HALF]) + _zstd(BYTES[HALF:])),
    _refused("zstd", "a skippable frame and another", lambda: _SKIPPABLE + _zstd()),
    _refused("zstd", "a frame and a skippable one", lambda: _zstd() + _SKIPPABLE),
    _refused("zstd", "a frame and zeros", lambda: _zstd() + bytes(8)),
    _refused("zstd", "a frame that names a dictionary", _zstd_with_dictionary_id),
)
STORED = tuple(framing for framing in FRAMINGS if framing.is_stored)
