"""A stand-in for a broker's address that counts the requests on their way to it."""

import socket
import struct
import threading
from collections import Counter
from contextlib import suppress
from types import TracebackType
from typing import Self


class CountingProxy:
    """Passes everything on to a broker, and counts requests by the number of their API.

    The broker has to advertise this address, or clients find their way around it.
    """

    def __init__(self) -> None:
        """Takes a free port; connections wait until `target` is known."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.target = ""
        self.requests: Counter[int] = Counter()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        """Starts to listen."""
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Takes no more connections; those that there are end with their peers."""
        self._listener.close()

    def counted(self) -> Counter[int]:
        """The requests until now."""
        with self._lock:
            return self.requests.copy()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            host, port = self.target.rsplit(":", 1)
            broker = socket.create_connection((host, int(port)))
            for work, pair in ((self._count, (client, broker)), (self._copy, (broker, client))):
                threading.Thread(target=work, args=pair, daemon=True).start()

    def _count(self, client: socket.socket, broker: socket.socket) -> None:
        """Passes requests on: their length in four bytes, then the number of their API in two."""
        while (head := self._read(client, 6)) is not None:
            length, api = struct.unpack(">ih", head)
            with self._lock:
                self.requests[api] += 1
            rest = self._read(client, length - 2)
            if rest is None:
                break
            broker.sendall(head + rest)
        _end(broker)

    def _copy(self, broker: socket.socket, client: socket.socket) -> None:
        try:
            while data := broker.recv(1 << 16):
                client.sendall(data)
        except OSError:
            pass
        _end(client)

    def _read(self, peer: socket.socket, size: int) -> bytes | None:
        found = b""
        while len(found) < size:
            try:
                part = peer.recv(size - len(found))
            except OSError:
                return None
            if not part:
                return None
            found += part
        return found


def _end(peer: socket.socket) -> None:
    with suppress(OSError):
        peer.shutdown(socket.SHUT_RDWR)
    peer.close()
