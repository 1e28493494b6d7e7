"""What makes a mail the same mail: its Message-ID and its content.

A mail that comes twice, as it may after a crash or by two ways, has one identity. Two mails to
which a careless sender gives the same Message-ID have two, since a digest of all below the headers
is part of it: nothing is hidden.
"""

from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from hashlib import sha256


def opened(raw: bytes) -> EmailMessage:
    """The mail that these bytes are."""
    return message_from_bytes(raw, policy=default)


def identity(raw: bytes) -> str:
    """Message-ID and digest, as ``<42@example.com>/0f343b0931126a20``."""
    # A mail from a file may end its lines otherwise than one from a server.
    head, _, body = raw.replace(b"\r\n", b"\n").partition(b"\n\n")
    name = ""
    for line in _unfolded(head):
        if line[:11].lower() == b"message-id:":
            name = line[11:].strip().decode("ascii", "replace")
            break
    return f"{name}/{sha256(body).hexdigest()[:16]}"


def _unfolded(head: bytes) -> list[bytes]:
    return head.replace(b"\n ", b" ").replace(b"\n\t", b" ").split(b"\n")
