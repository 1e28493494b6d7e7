"""A proxy in front of a broker that counts requests."""

import socket
import struct
import threading
from collections import Counter

from py.support.proxy import Proxy
from spark.reading.framing import read_exactly


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
        while head := read_exactly(client, 6):
            length, api = struct.unpack(">ih", head)
            with self._lock:
                self.requests[api] += 1
            broker.sendall(head + read_exactly(client, length - 2))
