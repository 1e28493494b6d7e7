"""The options of clients, producers and consumers; names and meaning are those of ``streamlog``."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias, TypedDict, TypeVar

from streamlog.groups import Broadcast

__all__ = ["ClientOptions", "ConsumerOptions", "Decoder", "ProducerOptions", "Start"]

_T = TypeVar("_T")
Decoder: TypeAlias = Callable[[bytes], _T]
Start: TypeAlias = str | int | datetime | timedelta
_Serializer: TypeAlias = Callable[[Any], bytes | str | None]
_Choice: TypeAlias = Callable[[str, bytes | None, bytes | None, int], int]
_Changed: TypeAlias = Callable[[list[tuple[str, int]]], object]


class ClientOptions(TypedDict, total=False):
    """As ``streamlog.connect`` has them."""

    client_id: str
    timeout: float
    config: Mapping[str, Any] | None


class ProducerOptions(TypedDict, total=False):
    """As ``streamlog.Client.producer`` has them."""

    acks: Literal["all", 0, 1]
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"]
    compression_level: int | None
    linger: float
    batch_size: int | str
    buffer: int | str
    max_request_size: int | str
    send_timeout: float
    delivery_timeout: float
    idempotence: bool | None
    partitioner: Literal["keyed", "sticky", "random", "roundrobin"] | _Choice
    audit: str | None
    audit_window: float
    key: _Serializer | None
    value: _Serializer | None
    encoding: Literal["utf-8"] | None
    config: Mapping[str, Any] | None


class ConsumerOptions(TypedDict, total=False):
    """As ``streamlog.Client.consumer`` has them, but for ``stop``, which is an asyncio event."""

    group: str | Broadcast | None
    commit: Literal["processed", "received", "manual"]
    commit_interval: float
    start: Start
    on_out_of_range: Literal["earliest", "latest", "error"]
    key: Decoder[Any] | None
    on_error: str
    on_assign: _Changed | None
    on_revoke: _Changed | None
    stop: asyncio.Event | None
    signals: bool
    buffer: int | str
    fetch_bytes: int | str
    fetch_wait: float
    create_topics: bool
    config: Mapping[str, Any] | None
