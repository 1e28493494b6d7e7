"""A record as drivers pass it on."""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

Headers = tuple[tuple[str, bytes | None], ...]
Json = dict[str, Any]


@dataclass(frozen=True)
class Record:
    """One record; `timestamp` is in milliseconds, and None is "now" or "not asked"."""

    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    partition: int = 0
    timestamp: int | None = None
    offset: int | None = None

    @classmethod
    def of_json(cls, fields: Mapping[str, Any]) -> Self:
        """Reads what `json` has written, or another driver."""
        return cls(
            key=unpack(fields["key"]),
            value=unpack(fields["value"]),
            headers=tuple((name, unpack(value)) for name, value in fields["headers"]),
            partition=fields["partition"],
            timestamp=fields["timestamp"],
            offset=fields.get("offset"),
        )

    def json(self) -> Json:
        """The record as the line protocol has it."""
        return {
            "key": pack(self.key),
            "value": pack(self.value),
            "headers": [[name, pack(value)] for name, value in self.headers],
            "partition": self.partition,
            "timestamp": self.timestamp,
            "offset": self.offset,
        }

    def content(self) -> tuple[bytes | None, bytes | None, Headers]:
        """The content from the producer, without the offset and timestamp from the broker."""
        return self.key, self.value, self.headers


def pack(data: bytes | None) -> str | None:
    """Bytes as base64."""
    return None if data is None else b64encode(data).decode()


def unpack(text: str | None) -> bytes | None:
    """Bytes from base64."""
    return None if text is None else b64decode(text, validate=True)
