"""A proxy in front of a broker that counts requests."""

import socket
import struct
import threading
from collections import Counter

from py.support.proxy import Proxy


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
        while head := _read(client, 6):
            length, api = struct.unpack(">ih", head)
            with self._lock:
                self.requests[api] += 1
            broker.sendall(head + _read(client, length - 2))


def _read(peer: socket.socket, size: int) -> bytes:
    """Reads exactly this many bytes, or none at the end of the connection."""
    found = b""
    while len(found) < size:
        part = peer.recv(size - len(found))
        if not part:
            return b""
        found += part
    return found
