"""Reports the results: mails and prices, precision and recall against the ledger, and the rate.

python -m mail.report [--ledger FILE]

Without a ledger, as for your own mails, there is no comparison. Ends with 1 if a
mail of the ledger has no outcome, or if precision or recall is below 0.99.
"""

import json
import sys
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import streamlog
from mail import config, topics
from mail.quotes import Quote, Reading

MAILS_A_DAY = 1_300_000
DAY_SECONDS = 86_400
DEMANDED = 0.99


@dataclass
class Log:
    """The contents of the topics."""

    stored: Counter[bytes] = field(default_factory=Counter)
    """Records by key, of both topics of mails."""
    with_attachments: int = 0
    readings: dict[bytes, Reading] = field(default_factory=dict)
    """The valid reading of each key."""
    unread: dict[bytes, str] = field(default_factory=dict)
    """The reason by key why a mail could not be read, unless it was read later."""
    span: float = 0.0
    """Seconds from the first outcome to the last, of first readings only."""


def look(client: streamlog.Client, names: config.Topics) -> Log:
    """Reads the current contents of the topics."""
    log = Log()
    for name in (names.mails, names.attachments):
        small = len(log.stored)
        for batch in client.topic(name).arrow(columns=["key"]):
            log.stored.update(batch["key"].to_pylist())
    log.with_attachments = len(log.stored) - small
    first: dict[bytes, int] = {}
    for message in client.topic(names.unread).read():
        log.unread[message.key] = (dict(message.headers)["reason"] or b"").decode()
        first.setdefault(message.key, message.timestamp_ms)
    for message in client.topic(names.prices).read():
        reading = Reading.from_json(message.value or b"")
        before = log.readings.get(message.key)
        if before is None or reading.run >= before.run:
            log.readings[message.key] = reading
        log.unread.pop(message.key, None)
        first[message.key] = min(first.get(message.key, reading.run), reading.run)
    log.span = (max(first.values()) - min(first.values())) / 1000 if first else 0.0
    return log


@dataclass
class Score:
    """The counts of expected, found and correct prices."""

    right: int = 0
    found: int = 0
    true: int = 0

    @property
    def precision(self) -> float:
        """The correct share of the found prices."""
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """The found share of the expected prices."""
        return self.right / self.true if self.true else 1.0


def compare(log: Log, ledger: Path) -> tuple[dict[str, Score], int]:
    """Returns the score of each kind of mail, and the number of mails without an outcome."""
    readings = {reading.message_id: reading for reading in log.readings.values()}
    unread = {key.decode().rpartition("/")[0] for key in log.unread}
    scores: dict[str, Score] = {}
    lost = 0
    for line in ledger.read_text().splitlines():
        truth = json.loads(line)
        reading = readings.get(truth["message_id"])
        if reading is None and truth["message_id"] not in unread:
            lost += 1
        found = {comparable(quote) for quote in (reading.prices if reading else [])}
        true = {comparable(Quote(*price)) for price in truth["prices"]}
        score = scores.setdefault(truth["kind"], Score())
        score.right += len(found & true)
        score.found += len(found)
        score.true += len(true)
    return scores, lost


def comparable(quote: Quote) -> tuple[str, str, Decimal, str]:
    """Returns a form in which equal prices are equal, whatever their trailing zeros."""
    return quote.instrument, quote.side, Decimal(quote.price), quote.currency


def total(scores: dict[str, Score]) -> Score:
    """Returns the score of all kinds together."""
    return Score(
        sum(score.right for score in scores.values()),
        sum(score.found for score in scores.values()),
        sum(score.true for score in scores.values()),
    )


def tell(log: Log) -> None:
    """Prints the results that need no ledger."""
    prices = sum(len(reading.prices) for reading in log.readings.values())
    twice = log.stored.total() - len(log.stored)
    again = f", {twice:,} records more than mails" if twice else ""
    with_files = f"{log.with_attachments:,} with attachments"
    print(f"stored    {len(log.stored):,} mails, {with_files}{again}")
    print(f"read      {len(log.readings):,} mails with {prices:,} prices")
    if log.unread:
        reason, count = Counter(map(_short, log.unread.values())).most_common(1)[0]
        print(f"unread    {len(log.unread):,} mails; {count:,} of them by {reason}")
    outcomes = len(log.readings) + len(log.unread)
    if log.span:
        rate, needed = outcomes / log.span, MAILS_A_DAY / DAY_SECONDS
        print(
            f"rate      {rate:,.0f} mails/s: {rate / needed:,.1f} times the {needed:.1f} mails/s "
            f"of {MAILS_A_DAY / 1e6:.1f} million a day"
        )


def _short(reason: str) -> str:
    what, _, why = reason.partition(": ")
    return f"{what.split(' ')[0]}: {why}"[:70]


def tell_scores(scores: dict[str, Score], lost: int) -> None:
    """Prints the comparison with the ledger."""
    print(f"          {'kind':12} {'prices':>8} {'precision':>10} {'recall':>8}")
    for kind, score in sorted(scores.items()):
        print(f"          {kind:12} {score.true:8,} {score.precision:10.4f} {score.recall:8.4f}")
    all_kinds = total(scores)
    of_found = f"{all_kinds.right:,} of {all_kinds.found:,} that were found"
    of_true = f"{all_kinds.right:,} of {all_kinds.true:,} in the ledger"
    print(f"precision {all_kinds.precision:.4f}  {of_found}")
    print(f"recall    {all_kinds.recall:.4f}  {of_true}")
    print(f"lost      {lost:,} mails")


def main() -> int:
    """The command."""
    parser = config.argument_parser("report", "Compares with the ledger")
    parser.add_argument("--ledger", type=Path, help="the truth (generator.ledger)")
    arguments = parser.parse_args()
    try:
        settings = config.read(arguments.config)
        with topics.connect(settings) as client:
            log = look(client, settings.topics)
    except (config.ConfigError, streamlog.StreamlogError) as error:
        print(f"report    {error}", file=sys.stderr)
        return 1
    tell(log)
    ledger = arguments.ledger or Path(settings.generator.ledger)
    if not ledger.exists():
        print("          no ledger: nothing to compare with")
        return 0
    scores, lost = compare(log, ledger)
    tell_scores(scores, lost)
    all_kinds = total(scores)
    return 0 if lost == 0 and min(all_kinds.precision, all_kinds.recall) >= DEMANDED else 1


if __name__ == "__main__":
    sys.exit(main())
