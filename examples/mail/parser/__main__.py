"""Extracts the prices from all mails, as a member of a group: start one for each core.

python -m mail.parser

SIGTERM ends it after the current mails.
"""

import sys
import time
from pathlib import Path

import streamlog
from mail import config, instruments, topics
from mail.parser.outcome import Outcomes
from mail.parser.read import Reader
from mail.parser.reference import Reference

BATCH_MAILS = 100
REPORT_SECONDS = 5.0


def run(settings: config.Config) -> None:
    """Reads mails until it is stopped."""
    reader = Reader(Reference(instruments.read(Path(settings.parser.instruments))))
    names = [settings.topics.mails, settings.topics.attachments]
    with (
        topics.connect(settings) as client,
        Outcomes(client, settings.topics, reader) as outcomes,
        client.consumer(
            names, group=settings.parser.group, commit="manual", signals=True
        ) as consumer,
    ):
        print("parser    reading", flush=True)
        told = time.monotonic()
        for batch in consumer.batches(max_messages=BATCH_MAILS):
            for message in batch:
                outcomes.add(message)
            outcomes.flush()
            try:
                batch.commit()
            except streamlog.BrokerError as error:
                # The partition was reassigned, and its new member reads these mails too: only
                # the latest reading of a key counts.
                print(f"parser    not committed: {error}", file=sys.stderr)
            if time.monotonic() - told > REPORT_SECONDS:
                told = time.monotonic()
                print(_told(outcomes), flush=True)
    print(_told(outcomes), flush=True)


def _told(outcomes: Outcomes) -> str:
    counts = outcomes.counts
    unread = f", {counts.unread:,} could not be read" if counts.unread else ""
    return f"parser    {counts.mails:,} mails with {counts.prices:,} prices{unread}"


def main() -> int:
    """The command."""
    arguments = config.argument_parser("parser", "Reads prices out of mails").parse_args()
    try:
        run(config.read(arguments.config))
    except (config.ConfigError, streamlog.StreamlogError, OSError) as error:
        print(f"parser    {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
