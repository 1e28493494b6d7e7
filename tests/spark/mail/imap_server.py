"""A real IMAP server, pymap, as a separate process with one account."""

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
    """The server; its mails are in a Maildir, so that it can be restarted."""

    def __init__(self, folder: Path) -> None:
        """Creates the account."""
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
        """Starts the server, and waits until it answers."""
        # A killed server leaves lock files, which the next one would respect for ten minutes.
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
        """Stops the server."""
        self._process.kill()
        self._process.wait()

    def renumber(self) -> None:
        """Renumbers the mails of the stopped server, as after a repair."""
        for numbers in self._folder.rglob("dovecot-uidlist"):
            numbers.unlink()

    def account(self) -> imaplib.IMAP4:
        """Opens a connection that has logged in and selected the inbox."""
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
        """Returns the mails of the inbox as the server sends them: it may refold headers."""
        with self.account() as server:
            parts = server.fetch("1:*", "(BODY.PEEK[])")[1]
        return [part[1] for part in parts if isinstance(part, tuple)]

    def count(self, mailbox: str) -> int:
        """Returns the number of mails in a mailbox."""
        with self.account() as server:
            kind, said = server.select(f'"{mailbox}"', readonly=True)
            assert kind == "OK", said
            return int(said[0] or b"0")

    def __enter__(self) -> Self:
        """Returns the server, which is running already."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stops the server."""
        self.stop()
