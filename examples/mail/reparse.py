"""Reads mails again, for example after a parser fix: new readings replace the previous ones.

python -m mail.reparse --from 2h --until 2026-03-02T16:00 --sender desk7@isar-kontor.example

Times are the times of storing: ISO 8601 (UTC without a zone), or durations before now as 90m, 2h,
1d. The service continues meanwhile: its group's offsets do not change.
"""

import re
import sys
from argparse import ArgumentTypeError
from datetime import UTC, datetime, timedelta
from email.parser import BytesHeaderParser
from email.utils import parseaddr
from pathlib import Path

import streamlog
from mail import config, instruments, topics
from mail.parser.outcome import Counts, Outcomes
from mail.parser.read import Reader
from mail.parser.reference import Reference

_BACK = re.compile(r"-?(\d+)([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_FLUSHED_MAILS = 1000


def moment(text: str) -> datetime | timedelta:
    """Parses a time, or a duration before now."""
    back = _BACK.fullmatch(text)
    if back:
        return -timedelta(**{_UNITS[back[2]]: int(back[1])})
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        message = f"{text!r} is neither a time, as 2026-03-02T16:00, nor one back from now, as 2h"
        raise ArgumentTypeError(message) from error
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def is_from(message: streamlog.Message, sender: str) -> bool:
    """Returns true if the sender's address of a mail contains this text, for example a domain."""
    headers = BytesHeaderParser().parsebytes(message.raw_value or b"")
    return sender.lower() in parseaddr(str(headers["From"] or ""))[1].lower()


def reparse(
    settings: config.Config,
    since: datetime | timedelta | None,
    until: datetime | timedelta | None,
    sender: str,
) -> Counts:
    """Reads mails stored in the time range again, those of a sender only if one is given."""
    reader = Reader(Reference(instruments.read(Path(settings.parser.instruments))))
    with (
        topics.connect(settings) as client,
        Outcomes(client, settings.topics, reader) as outcomes,
    ):
        for name in (settings.topics.mails, settings.topics.attachments):
            topic = client.topic(name)
            start = 0 if since is None else since
            for message in topic.replay(start, until, where=lambda mail: is_from(mail, sender)):
                outcomes.add(message)
                if outcomes.counts.mails % _FLUSHED_MAILS == 0:
                    outcomes.flush()
    return outcomes.counts


def main() -> int:
    """The command."""
    parser = config.argument_parser("reparse", "Reads mails again")
    parser.add_argument("--from", dest="since", type=moment, help="stored then or later")
    parser.add_argument("--until", type=moment, help="stored before")
    parser.add_argument("--sender", default="", help="an address, or a part of it")
    arguments = parser.parse_args()
    try:
        settings = config.read(arguments.config)
        counts = reparse(settings, arguments.since, arguments.until, arguments.sender)
    except (config.ConfigError, streamlog.StreamlogError, OSError) as error:
        print(f"reparse   {error}", file=sys.stderr)
        return 1
    unread = f", {counts.unread:,} could not be read" if counts.unread else ""
    print(f"reparse   {counts.mails:,} mails with {counts.prices:,} prices{unread}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
