"""Values that prove that nobody has changed them, and their keys."""

import zlib

VALUES_PER_PRODUCER = 1 << 40
KEYS_PER_PRODUCER = 40


def encoded(value: int, size: int) -> bytes:
    """The payload of a value: its digits, its checksum, and padding up to a size."""
    body = b"%d:" % value + b"x" * size
    return b"%08x:" % zlib.crc32(body) + body


def decoded(payload: bytes | None) -> int | None:
    """The value in a payload; none if the payload is damaged."""
    if payload is None or payload[8:9] != b":":
        return None
    body = payload[9:]
    if payload[:8] != b"%08x" % zlib.crc32(body):
        return None
    return int(body[: body.index(b":")])


def key_of(value: int) -> bytes:
    """The key of a value in a compacted topic.

    Every second value of a producer has a key of its own, so that its record must stay. The others
    share a few keys, so that compaction has records to remove from almost every batch.
    """
    producer, number = divmod(value, VALUES_PER_PRODUCER)
    if number % 2:
        return b"%d" % value
    return b"shared %d of %d" % (number // 2 % KEYS_PER_PRODUCER, producer)
