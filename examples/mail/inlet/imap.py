"""A mailbox on an IMAP server, polled for mails.

No position is stored: a stored mail is removed or moved on the server, and all remaining mails are
waiting. A broken connection is reopened, with increasing pauses of up to a minute.

A mail is identified by its UID, and by the UIDVALIDITY of the mailbox. After a server renumbered
its mails, UIDVALIDITY differs; then mails read before are not touched, because a UID may denote a
mail that was never stored. They are waiting, and are read again.
"""

import imaplib
import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress

from mail.config import ConfigError
from mail.config import Imap as Settings
from mail.inlet.source import Waiting
from mail.topics import MAIL_BYTES

TIMEOUT_SECONDS = 60.0
LONGEST_PAUSE_SECONDS = 60.0
_SIZE = re.compile(rb"RFC822\.SIZE (\d+)")
_BROKEN = (imaplib.IMAP4.abort, OSError)


class Imap:
    """A mailbox of an account."""

    def __init__(self, settings: Settings) -> None:
        """Connects on first use."""
        self._settings = settings
        self._server: imaplib.IMAP4 | None = None
        self._validity = ""
        self._connections = 0
        self._rejected: set[str] = set()
        self._pause = 1.0
        self.is_away = False

    def waiting(self) -> Iterator[Waiting]:
        """Yields mails that are not marked as deleted; none while the server cannot be reached."""
        try:
            server = self._connected()
            validity = self._validity
            server.noop()
            found = _answer(server.uid("SEARCH", "UNDELETED"))
            for uid in (found[0] or b"").decode().split() if found else []:
                name = f"{validity}/{uid}"
                mail = None if name in self._rejected else _mail(server, name)
                if mail is not None:
                    yield mail
            self._pause = 1.0
            self.is_away = False
        except _BROKEN as error:
            self._lost(error)

    def stored(self, mails: list[Waiting]) -> None:
        """Moves stored mails to another mailbox, or removes them.

        If the connection breaks, they are read again later, with the same identity.
        """
        try:
            server = self._connected()
            names = ",".join(self._numbers(mails))
            if not names:
                return
            if not self._settings.done:
                self._remove(server, names)
            elif "MOVE" in server.capabilities:
                _answer(server.uid("MOVE", names, _quoted(self._settings.done)))
            else:
                _answer(server.uid("COPY", names, _quoted(self._settings.done)))
                self._remove(server, names)
        except _BROKEN as error:
            self._lost(error)

    def rejected(self, mail: Waiting, reason: str) -> None:
        """Flags a rejected mail, and leaves it in place."""
        self._rejected.add(mail.name)
        try:
            server = self._connected()
            for number in self._numbers([mail]):
                _answer(server.uid("STORE", number, "+FLAGS.SILENT", r"(\Flagged)"))
        except _BROKEN as error:
            self._lost(error)

    def _numbers(self, mails: list[Waiting]) -> list[str]:
        """Returns the UIDs of the mails, if UIDVALIDITY is unchanged."""
        names = (mail.name.partition("/") for mail in mails)
        return [number for validity, _, number in names if validity == self._validity]

    def _remove(self, server: imaplib.IMAP4, names: str) -> None:
        _answer(server.uid("STORE", names, "+FLAGS.SILENT", r"(\Deleted)"))
        # A plain EXPUNGE would also remove mails marked by a user; marked mails are not waiting.
        if "UIDPLUS" in server.capabilities:
            _answer(server.uid("EXPUNGE", names))

    def _connected(self) -> imaplib.IMAP4:
        if self._server is None:
            settings = self._settings
            make = imaplib.IMAP4_SSL if settings.tls else imaplib.IMAP4
            password = os.environ.get(settings.password_env)
            if password is None:
                raise ConfigError(f"imap.password_env: {settings.password_env} is not set")
            server = make(settings.host, settings.port, timeout=TIMEOUT_SECONDS)
            server.login(settings.user, password)
            _answer(server.select(_quoted(settings.mailbox)))
            self._connections += 1
            # Without UIDVALIDITY, UIDs are valid for this connection only.
            said = server.response("UIDVALIDITY")[1][0] or b"connection %d" % self._connections
            self._validity = said.decode()
            # Servers report all capabilities only after the login.
            found = _answer(server.capability())[0]
            server.capabilities = tuple((found or b"").decode().upper().split())
            self._server = server
        return self._server

    def _lost(self, error: Exception) -> None:
        print(f"inlet     {self._settings.host}: {error}; again in {self._pause:.0f} s", flush=True)
        if self._server is not None:
            with suppress(*_BROKEN):
                self._server.shutdown()
        self._server = None
        self.is_away = True
        time.sleep(self._pause)
        self._pause = min(2 * self._pause, LONGEST_PAUSE_SECONDS)


def _mail(server: imaplib.IMAP4, name: str) -> Waiting | None:
    number = name.partition("/")[2]
    # The responses may include notifications about other mails.
    sizes = _answer(server.uid("FETCH", number, "(RFC822.SIZE)"))
    known = _SIZE.search(b" ".join(filter(None, sizes)))
    if known and int(known[1]) > MAIL_BYTES:
        return Waiting(name, b"", int(known[1]))
    # PEEK does not mark the mail as read.
    parts = server.uid("FETCH", number, "(BODY.PEEK[])")[1]
    for part in parts:
        if isinstance(part, tuple):
            return Waiting(name, part[1], len(part[1]))
    # The mail was removed meanwhile.
    return None


def _answer(answer: tuple[str, list[bytes | None]]) -> list[bytes | None]:
    kind, data = answer
    if kind != "OK":
        raise imaplib.IMAP4.error(f"the server said {kind}: {data!r}")
    return data


def _quoted(mailbox: str) -> str:
    return '"' + mailbox.replace("\\", "\\\\").replace('"', '\\"') + '"'
