"""Frames of the wire protocol, as proxies read them."""

import socket

__all__ = ["read_exactly"]


def read_exactly(peer: socket.socket, size: int) -> bytes:
    """Reads exactly this many bytes, or none at the end of the connection."""
    found = b""
    while len(found) < size:
        part = peer.recv(size - len(found))
        if not part:
            return b""
        found += part
    return found
