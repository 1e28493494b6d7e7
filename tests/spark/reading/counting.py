"""A stand-in for a broker's address that counts the requests on their way to it."""

import socket
import struct
import threading
from collections import Counter

from py.support.proxy import Proxy


class CountingProxy(Proxy):
    """Passes everything on to a broker, and counts requests by the number of their API."""

    def __init__(self) -> None:
        """Takes a free port."""
        super().__init__()
        self.requests: Counter[int] = Counter()
        self._lock = threading.Lock()

    def counted(self) -> Counter[int]:
        """The requests until now."""
        with self._lock:
            return self.requests.copy()

    def ask(self, client: socket.socket, broker: socket.socket) -> None:
        """Passes requests on: their length in four bytes, then the number of their API in two."""
        while head := _read(client, 6):
            length, api = struct.unpack(">ih", head)
            with self._lock:
                self.requests[api] += 1
            broker.sendall(head + _read(client, length - 2))


def _read(peer: socket.socket, size: int) -> bytes:
    """So many bytes, or none if the peer has no more."""
    found = b""
    while len(found) < size:
        part = peer.recv(size - len(found))
        if not part:
            return b""
        found += part
    return found
