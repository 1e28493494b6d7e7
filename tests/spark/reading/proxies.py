"""Proxies in front of a broker that read the frames of its protocol."""

import socket
import struct
import threading
from collections import Counter
from typing import Literal, TypeAlias

from py.support.proxy import Proxy

__all__ = ["CountingProxy", "Kind", "SpoilingProxy"]

Kind: TypeAlias = Literal["empty", "unknown"]

_METADATA = 3
_FIRST_FLEXIBLE = 9
_UNKNOWN_TOPIC = struct.pack(">h", 3)
_TAIL = {9: 5, 10: 5, 11: 1, 12: 1, 13: 3}
"""The bytes after the topics, by version: permissions, tagged fields, an error."""


class CountingProxy(Proxy):
    """Forwards requests to a broker, and counts them by API key."""

    def __init__(self) -> None:
        """Binds a free port."""
        super().__init__()
        self.requests: Counter[int] = Counter()
        self._lock = threading.Lock()

    def counted(self) -> Counter[int]:
        """The requests counted so far."""
        with self._lock:
            return self.requests.copy()

    def ask(self, client: socket.socket, broker: socket.socket) -> None:
        """Forwards requests: a length of four bytes, then the API key in two."""
        while head := _read_exactly(client, 6):
            length, api = struct.unpack(">ih", head)
            with self._lock:
                self.requests[api] += 1
            broker.sendall(head + _read_exactly(client, length - 2))


class SpoilingProxy(Proxy):
    """Forwards responses; a metadata response about `topic` alone can be spoilt.

    Either it names no topic at all, or it says that the topic is unknown.
    """

    def __init__(self, topic: str) -> None:
        """Binds a free port."""
        super().__init__()
        self.kind: Kind | None = None
        self.spoilt = 0
        """The number of spoilt responses."""
        self._name = bytes([len(topic) + 1]) + topic.encode()
        self._versions: dict[tuple[socket.socket, bytes], int] = {}
        self._lock = threading.Lock()

    def ask(self, client: socket.socket, broker: socket.socket) -> None:
        """Forwards requests, and notes the versions of those for metadata."""
        while head := _read_exactly(client, 12):
            length, api, version, correlation_id = struct.unpack(">ihh4s", head)
            if api == _METADATA:
                with self._lock:
                    self._versions[client, correlation_id] = version
            broker.sendall(head + _read_exactly(client, length - 8))

    def answer(self, broker: socket.socket, client: socket.socket) -> None:
        """Forwards responses, some of them spoilt."""
        while head := _read_exactly(broker, 4):
            answer = _read_exactly(broker, *struct.unpack(">i", head))
            with self._lock:
                version = self._versions.pop((client, answer[:4]), None)
                if version is not None and self.kind and self._name in answer:
                    answer = self._spoil(answer, version)
            client.sendall(struct.pack(">i", len(answer)) + answer)

    def _spoil(self, answer: bytes, version: int) -> bytes:
        """Returns the response without its topics, or with an error for the only one."""
        assert version >= _FIRST_FLEXIBLE, version
        # Before the name are its error and, before the first topic, the number of topics plus 1.
        error = answer.index(self._name) - 2
        before, after = answer[: error - 1], answer[error + 2 :]
        if answer[error - 1] != 2:
            return answer
        self.spoilt += 1
        if self.kind == "empty":
            return before + b"\x01" + answer[-_TAIL[version] :]
        return before + b"\x02" + _UNKNOWN_TOPIC + after


def _read_exactly(peer: socket.socket, size: int) -> bytes:
    """Reads exactly this many bytes, or none at the end of the connection."""
    found = b""
    while len(found) < size:
        part = peer.recv(size - len(found))
        if not part:
            return b""
        found += part
    return found
