"""A small client of ZooKeeper: enough to look at nodes, edit them, and end sessions."""

import socket
import struct
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self

CREATE, DELETE, GET, SET, CHILDREN, CLOSE = 1, 2, 4, 5, 8, -11
NO_NODE, NOT_EMPTY = -101, -111
TIMEOUT_SECONDS = 5.0


class NoAnswer(Exception):
    """The server does not answer, or refuses."""


class NotEmpty(NoAnswer):
    """A node that is to be deleted has children."""


@dataclass(frozen=True)
class Node:
    """A node's value and what its stat says."""

    value: bytes
    version: int
    created: int
    owner: int


class Session:
    """A session with a server, ended by `close`."""

    def __init__(
        self, address: tuple[str, int], session: tuple[int, bytes] = (0, bytes(16))
    ) -> None:
        """Opens a session, or takes over the one with this id and password."""
        try:
            self._socket = socket.create_connection(address, TIMEOUT_SECONDS)
        except OSError as error:
            raise NoAnswer(str(error)) from error
        try:
            self.id = self._greet(session)
        except NoAnswer:
            self._socket.close()
            raise
        self._number = 0

    def _greet(self, session: tuple[int, bytes]) -> int:
        identity, password = session
        hello = struct.pack(">iqiq", 0, 0, 10_000, identity) + _buffer(password) + b"\0"
        self._send(hello)
        answer = self._receive()
        found: int = struct.unpack_from(">q", answer, 8)[0]
        if found == 0:
            message = "the session has expired"
            raise NoAnswer(message)
        return found

    def get(self, path: str) -> Node | None:
        """A node, or none if it does not exist."""
        answer = self._call(GET, _string(path) + b"\0")
        if answer is None:
            return None
        size: int = struct.unpack_from(">i", answer)[0]
        value = answer[4 : 4 + max(size, 0)]
        stat = struct.unpack_from(">qqqqiiiqiiq", answer, 4 + max(size, 0))
        return Node(value, version=stat[4], created=stat[0], owner=stat[7])

    def children(self, path: str) -> list[str]:
        """The names of a node's children; none if it does not exist."""
        answer = self._call(CHILDREN, _string(path) + b"\0")
        names: list[str] = []
        if answer is None:
            return names
        (count,), at = struct.unpack_from(">i", answer), 4
        for _ in range(count):
            (size,) = struct.unpack_from(">i", answer, at)
            names.append(answer[at + 4 : at + 4 + size].decode())
            at += 4 + size
        return names

    def set(self, path: str, value: bytes) -> None:
        """Overwrites a node, whatever its version."""
        self._call(SET, _string(path) + _buffer(value) + struct.pack(">i", -1))

    def create(self, path: str, value: bytes) -> None:
        """Creates a persistent node that anybody may edit."""
        anybody = struct.pack(">ii", 1, 31) + _string("world") + _string("anyone")
        self._call(CREATE, _string(path) + _buffer(value) + anybody + struct.pack(">i", 0))

    def delete(self, path: str) -> None:
        """Deletes a node, whatever its version."""
        self._call(DELETE, _string(path) + struct.pack(">i", -1))

    def tree(self, path: str) -> dict[str, Node]:
        """A node and all below it, parents first."""
        node = self.get(path)
        if node is None:
            return {}
        found = {path: node}
        for name in self.children(path):
            found |= self.tree(f"{path}/{name}")
        return found

    def delete_tree(self, path: str) -> dict[str, Node]:
        """Deletes a node and all below it, also what others create there meanwhile.

        Returns what it has deleted, parents first.
        """
        deleted: dict[str, Node] = {}
        while True:
            found = self.tree(path)
            deleted = found | deleted
            with suppress(NotEmpty):
                for each in reversed(found):
                    self.delete(each)
                return deleted

    def close(self) -> None:
        """Ends the session."""
        try:
            self._number += 1
            self._send(struct.pack(">ii", self._number, CLOSE))
            self._receive()
        except NoAnswer:
            pass
        finally:
            self._socket.close()

    def _call(self, operation: int, body: bytes) -> bytes | None:
        self._number += 1
        self._send(struct.pack(">ii", self._number, operation) + body)
        answer = self._receive()
        number, _, error = struct.unpack_from(">iqi", answer)
        if error == NO_NODE:
            return None
        if error == NOT_EMPTY:
            message = "the node has children"
            raise NotEmpty(message)
        if error != 0 or number != self._number:
            message = f"error {error} of operation {operation}"
            raise NoAnswer(message)
        return answer[16:]

    def _send(self, body: bytes) -> None:
        try:
            self._socket.sendall(struct.pack(">i", len(body)) + body)
        except OSError as error:
            raise NoAnswer(str(error)) from error

    def _receive(self) -> bytes:
        (size,) = struct.unpack(">i", self._read(4))
        return self._read(size)

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            try:
                more = self._socket.recv(size - len(data))
            except OSError as error:
                raise NoAnswer(str(error)) from error
            if not more:
                message = "the server has closed the connection"
                raise NoAnswer(message)
            data += more
        return data

    def __enter__(self) -> Self:
        """The session."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Ends it."""
        self.close()


def password_of(session: int) -> bytes:
    """The password that a server gives to a session: Java's random numbers, seeded by its id."""
    mask = (1 << 48) - 1
    state = ((session ^ 0xB3415C00) ^ 0x5DEECE66D) & mask
    password = b""
    for _ in range(4):
        state = (state * 0x5DEECE66D + 0xB) & mask
        password += struct.pack("<I", (state >> 16) & 0xFFFFFFFF)
    return password


def _buffer(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value


def _string(text: str) -> bytes:
    return _buffer(text.encode())
