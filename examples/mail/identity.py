"""The identity of a mail: its Message-ID, and a digest of date, sender and content.

A mail that arrives twice, after a crash or by two routes, has one identity. Two mails with the same
Message-ID, or without one, have different identities, because the digest covers date, sender and
everything below the headers. Other headers may change in transit.

It is the key of a record; a Message-ID longer than a line may be is shortened.
"""

from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from hashlib import sha256

NAME_LENGTH = 998
"""The maximal length of a line in a mail (RFC 5322, 2.1.1)."""


def opened(raw: bytes) -> EmailMessage:
    """Parses the bytes of a mail."""
    return message_from_bytes(raw, policy=default)


def identity(raw: bytes) -> str:
    """Returns Message-ID and digest, as ``<42@example.com>/0f343b0931126a20``."""
    # Files and servers may use different line endings.
    head, _, body = raw.replace(b"\r\n", b"\n").partition(b"\n\n")
    headers = _headers(head)
    name = headers.get(b"message-id", b"").decode("ascii", "replace")[:NAME_LENGTH]
    digest = sha256(b"\n".join((headers.get(b"date", b""), headers.get(b"from", b""), body)))
    return f"{name}/{digest.hexdigest()[:16]}"


def _headers(head: bytes) -> dict[bytes, bytes]:
    """Returns the first header of each name in lower case, unfolded."""
    found: dict[bytes, bytes] = {}
    for line in head.replace(b"\n ", b" ").replace(b"\n\t", b" ").split(b"\n"):
        name, _, value = line.partition(b":")
        found.setdefault(name.strip().lower(), b" ".join(value.split()))
    return found
