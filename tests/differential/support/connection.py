"""One connection that carries frames, opened when it is needed and again after it was closed."""

import socket
import struct
from contextlib import suppress

ANSWER_SECONDS = 20.0


class Connection:
    """Requests go out and answers come in; what they mean is for others."""

    def __init__(self, address: str) -> None:
        """Opens nothing yet."""
        host, _, port = address.rpartition(":")
        self.address = (host, int(port))
        self.socket: socket.socket | None = None

    def send(self, request: bytes) -> None:
        """Sends one frame."""
        if self.socket is None:
            self.socket = socket.create_connection(self.address, ANSWER_SECONDS)
        # Of a connection that the other end has closed `receive` will tell.
        with suppress(ConnectionError):
            self.socket.sendall(struct.pack(">i", len(request)) + request)

    def receive(self) -> bytes | None:
        """The next frame, or None if the connection was closed instead.

        Raises:
            TimeoutError: Neither happened.
        """
        length = self._take(4)
        frame = None if length is None else self._take(struct.unpack(">i", length)[0])
        if frame is None:
            self.close()
        return frame

    def _take(self, length: int) -> bytes | None:
        assert self.socket is not None, "nothing was sent"
        data = bytearray()
        while len(data) < length:
            try:
                part = self.socket.recv(length - len(data))
            except ConnectionError:
                return None
            except TimeoutError:
                # What comes after all would be taken for the next answer.
                self.close()
                raise
            if not part:
                return None
            data += part
        return bytes(data)

    def close(self) -> None:
        """Closes it, if it is open."""
        if self.socket is not None:
            self.socket.close()
            self.socket = None
