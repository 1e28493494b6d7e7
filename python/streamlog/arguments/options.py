"""Options of clients, producers, consumers and queues, as types of keyword arguments.

The stubs of the native classes list the same options with their defaults and descriptions; a test
compares the names and types.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Generic, Literal, TypeAlias, TypedDict, TypeVar

from streamlog.groups import Broadcast
from streamlog.queues.letters import DeadLetters

__all__ = [
    "ClientOptions",
    "ConsumerOptions",
    "Decoder",
    "ProducerOptions",
    "QueueOptions",
    "Serializer",
    "Start",
]

_T = TypeVar("_T")
_Stop = TypeVar("_Stop")
Decoder: TypeAlias = Callable[[bytes], _T]
Serializer: TypeAlias = Callable[[_T], bytes | bytearray | str | None]
Start: TypeAlias = Literal["earliest", "latest"] | int | datetime | timedelta
_Choice: TypeAlias = Callable[[str, bytes | None, bytes | None, int], int]
_Changed: TypeAlias = Callable[[list[tuple[str, int]]], object]
_Config: TypeAlias = Mapping[str, Any]


class ClientOptions(TypedDict, total=False):
    """Options of ``streamlog.connect``."""

    client_id: str
    timeout: float
    config: _Config | None


class ProducerOptions(TypedDict, total=False):
    """Options of ``streamlog.Client.producer``, except ``key``, ``value`` and ``encoding``."""

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
    config: _Config | None


class ConsumerOptions(TypedDict, Generic[_Stop], total=False):
    """Options of ``streamlog.Client.consumer``, except ``key``, ``value`` and ``tombstones``."""

    group: str | Broadcast | None
    commit: Literal["processed", "received", "manual"]
    commit_interval: float
    start: Start
    on_out_of_range: Literal["earliest", "latest", "error"]
    on_error: Literal["raise", "skip"] | DeadLetters
    on_assign: _Changed | None
    on_revoke: _Changed | None
    stop: _Stop | None
    signals: bool
    buffer: int | str
    fetch_bytes: int | str
    fetch_wait: float
    create_topics: bool
    config: _Config | None


class QueueOptions(TypedDict, Generic[_Stop], total=False):
    """Options of a work queue that it passes on to its consumer."""

    start: Start
    stop: _Stop | None
    signals: bool
    config: _Config | None
