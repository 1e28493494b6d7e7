"""What makes a mail the same mail: its Message-ID, when it is from and whose, and its content.

A mail that comes twice, as it may after a crash or by two ways, has one identity. Two mails to
which a careless sender gives the same Message-ID, or none, have two, since a digest of date, sender
and all below the headers is part of it: nothing is hidden. Other headers may change on the way.

It is a record's key: of a Message-ID that is longer than a line may be, it has the beginning.
"""

from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from hashlib import sha256

NAME_LENGTH = 998
"""Of a line in a mail (RFC 5322, 2.1.1)."""


def opened(raw: bytes) -> EmailMessage:
    """The mail that these bytes are."""
    return message_from_bytes(raw, policy=default)


def identity(raw: bytes) -> str:
    """Message-ID and digest, as ``<42@example.com>/0f343b0931126a20``."""
    # A mail from a file may end its lines otherwise than one from a server.
    head, _, body = raw.replace(b"\r\n", b"\n").partition(b"\n\n")
    headers = _headers(head)
    name = headers.get(b"message-id", b"").decode("ascii", "replace")[:NAME_LENGTH]
    digest = sha256(b"\n".join((headers.get(b"date", b""), headers.get(b"from", b""), body)))
    return f"{name}/{digest.hexdigest()[:16]}"


def _headers(head: bytes) -> dict[bytes, bytes]:
    """By name in small letters the first of each, however it was folded."""
    found: dict[bytes, bytes] = {}
    for line in head.replace(b"\n ", b" ").replace(b"\n\t", b" ").split(b"\n"):
        name, _, value = line.partition(b":")
        found.setdefault(name.strip().lower(), b" ".join(value.split()))
    return found
