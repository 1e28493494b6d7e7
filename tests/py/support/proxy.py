"""A proxy in front of a broker, which can inspect or delay traffic."""

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self, TypeAlias

__all__ = ["Proxy", "SlowProxy"]


class Proxy:
    """Forwards requests to a broker, and its responses back.

    The broker has to advertise the proxy's address, or clients bypass it.
    """

    def __init__(self) -> None:
        """Binds a free port; connections wait until `target` is set."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.target = ""

    def __enter__(self) -> Self:
        """Starts listening."""
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stops accepting connections; existing ones end with their peers."""
        # Without this, the accepting thread would keep the port open for another connection.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def ask(self, client: socket.socket, broker: socket.socket) -> None:
        """Forwards requests until the connection ends."""
        _copy(client, broker)

    def answer(self, broker: socket.socket, client: socket.socket) -> None:
        """Forwards responses until the connection ends."""
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
                # The broker is gone: let the client notice as it would without a proxy.
                client.close()
                continue
            for way, pair in ((self.ask, (client, broker)), (self.answer, (broker, client))):
                threading.Thread(target=_go, args=(way, *pair), daemon=True).start()


class SlowProxy(Proxy):
    """A proxy that limits the rate of responses in bytes per second, for each connection."""

    def __init__(self, bytes_per_second: int) -> None:
        """Binds a free port."""
        super().__init__()
        self._bytes_per_second = bytes_per_second

    def answer(self, broker: socket.socket, client: socket.socket) -> None:
        """Forwards responses, a part every tenth of a second."""
        while data := broker.recv(self._bytes_per_second // 10):
            time.sleep(len(data) / self._bytes_per_second)
            client.sendall(data)


_Way: TypeAlias = Callable[[socket.socket, socket.socket], None]


def _copy(source: socket.socket, target: socket.socket) -> None:
    while data := source.recv(1 << 16):
        target.sendall(data)


def _go(way: _Way, source: socket.socket, target: socket.socket) -> None:
    """Forwards one direction until either peer closes it."""
    with suppress(OSError):
        way(source, target)
    with suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)
    target.close()
