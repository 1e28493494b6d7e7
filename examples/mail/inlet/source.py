"""What every source of mails is: mails that wait, and what is done about one that was stored."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Waiting:
    """A mail at its source."""

    name: str
    """What the source calls it."""
    raw: bytes
    """All of it; empty if it is too large to be looked at."""
    size: int

    def __str__(self) -> str:
        """Its name as it can be printed, even where the source has bytes that are no text."""
        return self.name.encode(errors="surrogateescape").decode(errors="replace")


class Source(Protocol):
    """A folder, a mailbox, an account."""

    is_away: bool
    """Whether it could not be asked, so that nobody knows what waits there."""

    def waiting(self) -> Iterator[Waiting]:
        """The mails that are there now and complete, read one after another."""
        ...

    def stored(self, mails: list[Waiting]) -> None:
        """Lets go of mails whose records are acknowledged."""

    def rejected(self, mail: Waiting, reason: str) -> None:
        """Puts aside a mail that no topic takes, so that a person finds it."""
