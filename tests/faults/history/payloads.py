"""Values that prove that nobody has changed them."""

import zlib


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
