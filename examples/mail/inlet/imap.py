"""An account on an IMAP server: what is in one of its mailboxes, asked for again and again.

No position is kept: a mail that was stored is removed or moved away there, and what is left is what
waits. A connection that breaks is made again, with ever longer pauses up to a minute.
"""

import imaplib
import os
import re
import time
from collections.abc import Iterator

from mail.config import ConfigError
from mail.config import Imap as Settings
from mail.inlet.source import Waiting
from mail.topics import MAIL_BYTES

TIMEOUT_SECONDS = 60.0
LONGEST_PAUSE_SECONDS = 60.0
_SIZE = re.compile(rb"RFC822\.SIZE (\d+)")
_BROKEN = (imaplib.IMAP4.abort, OSError)


class Imap:
    """One mailbox of an account."""

    def __init__(self, settings: Settings) -> None:
        """Connects when it is first asked."""
        self._settings = settings
        self._server: imaplib.IMAP4 | None = None
        self._rejected: set[bytes] = set()
        self._pause = 1.0

    def waiting(self) -> Iterator[Waiting]:
        """Those that nobody has marked as deleted; none while the server cannot be reached."""
        try:
            server = self._connected()
            server.noop()
            found = _answer(server.uid("SEARCH", "UNDELETED"))
            for uid in found[0].split() if found and found[0] else []:
                mail = None if uid in self._rejected else self._mail(server, uid)
                if mail is not None:
                    yield mail
            self._pause = 1.0
        except _BROKEN as error:
            self._lost(error)

    def stored(self, mails: list[Waiting]) -> None:
        """Moves them to another mailbox, or removes them.

        When the connection breaks here they wait still, and come again: with the same identity.
        """
        names = ",".join(mail.name for mail in mails)
        try:
            server = self._connected()
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
        """Flags it, and leaves it where it is."""
        self._rejected.add(mail.name.encode())
        try:
            _answer(self._connected().uid("STORE", mail.name, "+FLAGS.SILENT", r"(\Flagged)"))
        except _BROKEN as error:
            self._lost(error)

    def _mail(self, server: imaplib.IMAP4, uid: bytes) -> Waiting | None:
        name = uid.decode()
        # News of other mails may stand among the answers.
        sizes = _answer(server.uid("FETCH", name, "(RFC822.SIZE)"))
        known = _SIZE.search(b" ".join(filter(None, sizes)))
        if known and int(known[1]) > MAIL_BYTES:
            return Waiting(name, b"", int(known[1]))
        # PEEK: reading it changes nothing there.
        parts = server.uid("FETCH", name, "(BODY.PEEK[])")[1]
        for part in parts:
            if isinstance(part, tuple):
                return Waiting(name, part[1], len(part[1]))
        # Somebody else has removed it.
        return None

    def _remove(self, server: imaplib.IMAP4, names: str) -> None:
        _answer(server.uid("STORE", names, "+FLAGS.SILENT", r"(\Deleted)"))
        # A plain EXPUNGE would also remove what a person has marked; marked mails wait no more.
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
            # It says what it can do only to those it knows.
            found = _answer(server.capability())[0]
            server.capabilities = tuple((found or b"").decode().upper().split())
            self._server = server
        return self._server

    def _lost(self, error: Exception) -> None:
        print(f"inlet     {self._settings.host}: {error}; again in {self._pause:.0f} s", flush=True)
        self._server = None
        time.sleep(self._pause)
        self._pause = min(2 * self._pause, LONGEST_PAUSE_SECONDS)


def _answer(answer: tuple[str, list[bytes | None]]) -> list[bytes | None]:
    kind, data = answer
    if kind != "OK":
        raise imaplib.IMAP4.error(f"the server said {kind}: {data!r}")
    return data


def _quoted(mailbox: str) -> str:
    return '"' + mailbox.replace("\\", "\\\\").replace('"', '\\"') + '"'
