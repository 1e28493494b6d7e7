"""Reading of a mail: the best body, then the attachments."""

from datetime import UTC, datetime
from email.message import EmailMessage, MIMEPart
from email.utils import parseaddr, parsedate_to_datetime

from mail.identity import identity, opened
from mail.parser import VERSION, files, html, rows
from mail.parser.extract import Extractor
from mail.parser.reference import Reference
from mail.quotes import Quote, Reading


class Reader:
    """Reads mails with one table of instruments."""

    def __init__(self, reference: Reference) -> None:
        """Keeps the table."""
        self.reference = reference

    def read(self, raw: bytes, run: int) -> Reading:
        """Returns the prices of this mail; an empty list if it has none.

        Raises:
            Unreadable: It has no date, or a part of it cannot be opened. No part counts then.
        """
        mail = opened(raw)
        found: dict[tuple[str, str], Quote] = {}
        for part in _parts(mail):
            for quote in Extractor(self.reference, part).quotes():
                found.setdefault((quote.instrument, quote.side), quote)
        return Reading(
            mail=identity(raw),
            message_id=_header(mail, "Message-ID"),
            sender=sender(mail),
            at=_date(mail).isoformat(),
            version=VERSION,
            run=run,
            prices=list(found.values()),
        )


def sender(mail: EmailMessage) -> str:
    """Returns the sender's address in lower case."""
    return parseaddr(_header(mail, "From"))[1].lower()


def _header(mail: EmailMessage, name: str) -> str:
    return str(mail.get(name, "")).strip()


def _date(mail: EmailMessage) -> datetime:
    text = _header(mail, "Date")
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, IndexError, TypeError) as error:
        raise rows.Unreadable(f"Date: {text!r} is no date") from error
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def _parts(mail: EmailMessage) -> list[list[rows.Row]]:
    found = []
    body = mail.get_body(("html", "plain"))
    if body is not None:
        text = _text(body)
        is_html = body.get_content_subtype() == "html"
        found.append(html.read(text) if is_html else list(rows.of_text(rows.own(text))))
    for part in mail.iter_attachments():
        name = part.get_filename("")
        kind = files.kind(name, part.get_content_type())
        if kind and isinstance(part, EmailMessage):
            content = part.get_payload(decode=True)
            found.append(files.read(kind, name, content if isinstance(content, bytes) else b""))
    return found


def _text(part: MIMEPart) -> str:
    try:
        return str(part.get_content())
    except (LookupError, UnicodeDecodeError, ValueError) as error:
        raise rows.Unreadable(f"body: {type(error).__name__}: {error}") from error
