"""An mbox: one file with many mails, which is read without changes."""

import mailbox
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from mail.inlet.source import Waiting
from mail.topics import MAIL_BYTES


class Mbox:
    """The mails of the file, each read once."""

    is_away = False

    def __init__(self, path: Path) -> None:
        """Opens the file on first use."""
        self._path = path
        self._is_read = False

    def waiting(self) -> Iterator[Waiting]:
        """Yields all mails, on the first call."""
        if self._is_read:
            return
        with closing(mailbox.mbox(self._path, create=False)) as box:
            for key in box.iterkeys():
                raw = box.get_bytes(key)
                yield Waiting(f"{self._path.name}:{key}", raw[: MAIL_BYTES + 1], len(raw))
        self._is_read = True

    def stored(self, mails: list[Waiting]) -> None:
        """Does nothing: the file belongs to the user."""

    def rejected(self, mail: Waiting, reason: str) -> None:
        """Does nothing: the file belongs to the user."""
