"""A stand-in for a broker's address: what passes it can be looked at, or held up."""

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self, TypeAlias

__all__ = ["Proxy", "SlowProxy"]


class Proxy:
    """Passes everything on to a broker, and its answers back.

    The broker has to advertise this address, or clients find their way around it.
    """

    def __init__(self) -> None:
        """Takes a free port; connections wait until `target` is known."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.target = ""

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
        # The thread that waits for a connection would keep the port open for one more.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def ask(self, client: socket.socket, broker: socket.socket) -> None:
        """Passes requests on until there are no more."""
        _copy(client, broker)

    def answer(self, broker: socket.socket, client: socket.socket) -> None:
        """Passes answers back until there are no more."""
        _copy(broker, client)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            host, port = self.target.rsplit(":", 1)
            try:
                broker = socket.create_connection((host, int(port)))
            except OSError:
                # Its broker is gone: the client finds that out as it would without a proxy.
                client.close()
                continue
            for way, pair in ((self.ask, (client, broker)), (self.answer, (broker, client))):
                threading.Thread(target=_go, args=(way, *pair), daemon=True).start()


class SlowProxy(Proxy):
    """Passes so many bytes of an answer on in a second, on each connection."""

    def __init__(self, bytes_per_second: int) -> None:
        """Takes a free port."""
        super().__init__()
        self._bytes_per_second = bytes_per_second

    def answer(self, broker: socket.socket, client: socket.socket) -> None:
        """Passes answers back, a part every tenth of a second."""
        while data := broker.recv(self._bytes_per_second // 10):
            time.sleep(len(data) / self._bytes_per_second)
            client.sendall(data)


_Way: TypeAlias = Callable[[socket.socket, socket.socket], None]


def _copy(source: socket.socket, target: socket.socket) -> None:
    while data := source.recv(1 << 16):
        target.sendall(data)


def _go(way: _Way, source: socket.socket, target: socket.socket) -> None:
    """Goes that way to its end, or to that of a peer."""
    with suppress(OSError):
        way(source, target)
    with suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)
    target.close()
