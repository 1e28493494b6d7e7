"""Stores mails as records: a mail leaves its source only after its round is acknowledged."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from email import message_from_bytes
from types import TracebackType
from typing import Self

from mail.config import Topics
from mail.identity import identity
from mail.inlet.source import Source, Waiting
from mail.topics import LARGEST_BYTES, MAIL_BYTES, SMALL_BYTES
from streamlog import Client

ROUND_MAILS = 200
ROUND_BYTES = 64 * 2**20


@dataclass
class Counts:
    """Counts for the summary."""

    mails: int = 0
    attachments: int = 0
    size: int = 0
    rejected: int = 0


class Store:
    """The two topics of mails."""

    def __init__(self, client: Client, topics: Topics) -> None:
        """Publishes with this client."""
        self.counts = Counts()
        self._topics = topics
        self._stack = ExitStack()
        self._small = self._stack.enter_context(client.producer(compression="lz4"))
        # Attachments are compressed already.
        large = client.producer(max_request_size=LARGEST_BYTES, buffer=2 * ROUND_BYTES)
        self._large = self._stack.enter_context(large)

    def take(self, source: Source) -> int:
        """Stores waiting mails, round by round, and returns their number."""
        before = self.counts.mails
        for mails in _rounds(source.waiting()):
            self._round(source, mails)
        return self.counts.mails - before

    def _round(self, source: Source, mails: list[Waiting]) -> None:
        fitting = []
        for mail in mails:
            if mail.size > MAIL_BYTES:
                reason = f"{mail.size} bytes are more than the {MAIL_BYTES} that are taken"
                print(f"inlet     rejected {mail}: {reason}", flush=True)
                source.rejected(mail, reason)
                self.counts.rejected += 1
            else:
                self._send(mail)
                fitting.append(mail)
        self._small.flush()
        self._large.flush()
        if fitting:
            source.stored(fitting)
        self.counts.mails += len(fitting)
        self.counts.size += sum(mail.size for mail in fitting)

    def _send(self, mail: Waiting) -> None:
        key = identity(mail.raw).encode()
        headers = {"origin": mail.name.encode(errors="surrogateescape")}
        if mail.size > SMALL_BYTES or has_attachment(mail.raw):
            self.counts.attachments += 1
            self._large.send(self._topics.attachments, mail.raw, key=key, headers=headers)
        else:
            self._small.send(self._topics.mails, mail.raw, key=key, headers=headers)

    def __enter__(self) -> Self:
        """Returns the store, which is ready already."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Delivers pending records."""
        self._stack.__exit__(kind, error, trace)


def has_attachment(raw: bytes) -> bool:
    """Returns true if a part of the mail is a file, or marked as an attachment."""
    parts = message_from_bytes(raw).walk()
    return any(
        part.get_content_disposition() == "attachment" or part.get_filename() for part in parts
    )


def _rounds(mails: Iterator[Waiting]) -> Iterator[list[Waiting]]:
    taken: list[Waiting] = []
    for mail in mails:
        taken.append(mail)
        if len(taken) == ROUND_MAILS or sum(len(one.raw) for one in taken) > ROUND_BYTES:
            yield taken
            taken = []
    if taken:
        yield taken
