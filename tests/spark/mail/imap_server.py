"""A real IMAP server, pymap, as a process of its own with one account."""

import imaplib
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from pysasl.hashing import BuiltinHash

READY_SECONDS = 100.0
USER, PASSWORD = "prices", "secret"


class ImapServer:
    """The server; what it has is kept in a Maildir, so that it can be started again."""

    def __init__(self, folder: Path) -> None:
        """Makes the account."""
        folder.mkdir()
        self._folder = folder
        secret = BuiltinHash().hash(PASSWORD)
        (folder / "pymap-etc-passwd").write_text(f"{USER}::1000:::{USER}:\n")
        (folder / "pymap-etc-shadow").write_text(f"{USER}:{secret}:::::::\n")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.start()

    def start(self) -> None:
        """Starts it, and waits until it answers."""
        # One that was killed leaves its locks, which the next would respect for ten minutes.
        for lock in self._folder.rglob("*.lock"):
            lock.unlink()
        program = str(Path(sys.executable).with_name("pymap"))
        command = [sys.executable, program, "--host", "127.0.0.1", "--port", str(self.port)]
        self._process = subprocess.Popen([*command, "--no-tls", "maildir", str(self._folder)])
        deadline = time.monotonic() + READY_SECONDS
        while True:
            try:
                return self.account().__exit__(None, None, None)
            except OSError:
                assert time.monotonic() < deadline, "the server does not answer"
                time.sleep(0.05)

    def stop(self) -> None:
        """Ends it."""
        self._process.kill()
        self._process.wait()

    def renumber(self) -> None:
        """Gives other numbers to the mails, as after a repair; while it is stopped."""
        for numbers in self._folder.rglob("dovecot-uidlist"):
            numbers.unlink()

    def account(self) -> imaplib.IMAP4:
        """A connection that has logged in, with the inbox open."""
        server = imaplib.IMAP4("127.0.0.1", self.port, timeout=READY_SECONDS)
        server.login(USER, PASSWORD)
        server.select("INBOX")
        return server

    def deliver(self, mails: list[bytes]) -> None:
        """Puts mails into the inbox."""
        with self.account() as server:
            for raw in mails:
                kind, said = server.append("INBOX", "", "", raw)
                assert kind == "OK", said

    def mails(self) -> list[bytes]:
        """What the inbox has, as the server tells it: it may fold a header anew."""
        with self.account() as server:
            parts = server.fetch("1:*", "(BODY.PEEK[])")[1]
        return [part[1] for part in parts if isinstance(part, tuple)]

    def count(self, mailbox: str) -> int:
        """How many mails a mailbox has."""
        with self.account() as server:
            kind, said = server.select(f'"{mailbox}"', readonly=True)
            assert kind == "OK", said
            return int(said[0] or b"0")

    def __enter__(self) -> Self:
        """It runs already."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends it."""
        self.stop()
