"""The interface of a source of mails: waiting mails, and their treatment after storing."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Waiting:
    """A mail at its source."""

    name: str
    """Its name at the source."""
    raw: bytes
    """Its bytes; empty if it is too large to be read."""
    size: int

    def __str__(self) -> str:
        """Its name in printable form, even if it is not valid text."""
        return self.name.encode(errors="surrogateescape").decode(errors="replace")


class Source(Protocol):
    """A folder, a mailbox, an account."""

    is_away: bool
    """True if the source could not be reached, so that its waiting mails are unknown."""

    def waiting(self) -> Iterator[Waiting]:
        """Yields the complete waiting mails."""
        ...

    def stored(self, mails: list[Waiting]) -> None:
        """Releases mails whose records are acknowledged."""

    def rejected(self, mail: Waiting, reason: str) -> None:
        """Rejects a mail that no topic accepts, so that the user finds it."""
