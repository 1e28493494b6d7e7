"""The whole example on Spark with few mails: mailbox, inlet, parser, pipeline, report, reparse."""

import os
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

from pyspark.sql import SparkSession

import streamlog
from mail import instruments
from mail.generator.compose import Truth
from mail.identity import identity
from mail.parser.outcome import Outcomes
from mail.parser.read import Reader
from mail.pipeline import __main__ as pipeline
from mail.pipeline import windows
from mail.quotes import Quote, Reading
from mail.report import compare, look, total
from py.support.broker import until
from spark.mail.conftest import ROOT, Commands

MAILS = 100
PNG = b"\x89PNG\r\n\x1a\n"


def committed(client: streamlog.Client, commands: Commands) -> bool:
    """Returns true if the parsers have read all stored mails."""
    settings = commands.settings
    done = client.admin.group(settings.parser.group).committed()
    ends = {
        (name, partition): stop
        for name in (settings.topics.mails, settings.topics.attachments)
        for partition, stop in client.admin.end_offsets(name).items()
        if stop
    }
    return all((done.get(place) or 0) >= stop for place, stop in ends.items())


def test_one_command_runs_everything_with_a_users_mails(
    mailbox: list[tuple[bytes, Truth]], folder: Path
) -> None:
    own = folder / "own"
    own.mkdir()
    for number, (raw, _) in enumerate(mailbox[:30]):
        (own / f"{number}.eml").write_bytes(raw)
    undated = b"Message-ID: <undated@test>\nFrom: x@y.example\n\nUS0378331005 last USD 1.25\n"
    (own / "undated.eml").write_bytes(undated)
    command: list[str | Path] = [sys.executable, "-m", "mail", own]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "examples")}
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=folder, env=environment, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    broken = sum(truth.is_broken for _, truth in mailbox[:30])
    assert "inlet     31 mails stored" in done.stdout
    assert f"read      {30 - broken} mails with " in done.stdout
    assert f"unread    {1 + broken} mails" in done.stdout
    assert "no ledger" in done.stdout
    made = folder / "target" / "mail"
    assert list(made.glob("windows/date=*/*.parquet")) != []
    assert (made / "prices.png").read_bytes().startswith(PNG)
    assert len(list(own.iterdir())) == 31


def test_mails_become_windows_a_picture_and_a_report(
    configured: Callable[..., Commands],
    client: streamlog.Client,
    spark: SparkSession,
    folder: Path,
) -> None:
    commands = configured(f"mails = {MAILS}")
    commands.run("generator")
    # A mail that arrives twice, and an unreadable one.
    twice = (folder / "inbox" / "0000005.eml").read_bytes()
    (folder / "inbox" / "again.eml").write_bytes(twice)
    undated = b"Message-ID: <undated@test>\nFrom: x@y.example\n\nUS0378331005 last USD 1.25\n"
    (folder / "inbox" / "undated.eml").write_bytes(undated)
    commands.run("inlet", "--once")
    parsers = [commands.start("parser"), commands.start("parser")]
    for parser in parsers:
        # Before it reads, the signal would end it without its handler.
        assert parser.stdout is not None
        assert any("parser    reading" in line for line in parser.stdout)
    until(lambda: committed(client, commands), 120)
    for parser in parsers:
        parser.terminate()
        said, _ = parser.communicate(timeout=100)
        assert parser.returncode == 0, said

    settings = commands.settings
    log = look(client, settings.topics)
    scores, lost = compare(log, Path(settings.generator.ledger))
    assert (len(log.stored), log.stored.total(), lost) == (MAILS + 1, MAILS + 2, 0)
    assert log.unread[identity(undated).encode()].startswith("Date: ''")
    assert total(scores).precision >= 0.99
    assert total(scores).recall >= 0.99
    said = commands.run("report")
    assert f"recall    {total(scores).recall:.4f}" in said
    assert "of 1.3 million a day" in said

    assert pipeline.run(settings, spark) > 0
    stored = spark.read.parquet(settings.pipeline.output).toArrow().to_pylist()
    expected = expected_windows(log.readings.values())
    found = {(row["instrument"], row["currency"], row["start"].isoformat()): row for row in stored}
    assert {key: row["quotes"] for key, row in found.items()} == {
        key: len(prices) for key, prices in expected.items()
    }
    known = {one.isin: one for one in instruments.read(Path(settings.parser.instruments))}
    for key, prices in expected.items():
        row = found[key]
        assert (row["low"], row["high"]) == (min(prices), max(prices))
        assert row["low"] <= row["mean"] <= row["high"]
        assert row["asset_class"] == known[row["instrument"]].asset_class
        assert (row["end"] - row["start"]).total_seconds() == 300
    assert (folder / "prices.png").read_bytes().startswith(PNG)
    assert (folder / "windows" / "date=2026-03-02").is_dir()


def expected_windows(readings: object) -> dict[tuple[str, str, str], list[Decimal]]:
    """Returns the prices of each instrument, currency and five minutes, without Spark."""
    from collections.abc import Iterable
    from datetime import datetime
    from typing import cast

    made: dict[tuple[str, str, str], list[Decimal]] = {}
    for reading in cast(Iterable[Reading], readings):
        at = datetime.fromisoformat(reading.at)
        start = at.replace(minute=at.minute // 5 * 5, second=0)
        for quote in reading.prices:
            key = (quote.instrument, quote.currency, start.isoformat())
            made.setdefault(key, []).append(Decimal(quote.price))
    return made


class Careless(Reader):
    """A parser with a bug: it reads every price ten times too high, and a false one."""

    def read(self, raw: bytes, run: int) -> Reading:
        """Returns the wrong prices."""
        reading = super().read(raw, run)
        prices = [
            Quote(quote.instrument, quote.side, str(10 * Decimal(quote.price)), quote.currency)
            for quote in reading.prices
        ]
        reading.prices[:] = [*prices, Quote("XS0000000000", "last", "1", "EUR")]
        return reading


def test_a_new_reading_replaces_the_previous_one(
    configured: Callable[..., Commands],
    client: streamlog.Client,
    spark: SparkSession,
    reader: Reader,
    mailbox: list[tuple[bytes, Truth]],
) -> None:
    commands = configured()
    folder, settings = commands.path.parent, commands.settings
    (folder / "inbox").mkdir()
    truths = [(raw, truth) for raw, truth in mailbox[:60] if not truth.is_broken]
    for number, (raw, _) in enumerate(truths):
        (folder / "inbox" / f"{number}.eml").write_bytes(raw)
    commands.run("inlet", "--once")
    topics = settings.topics
    with Outcomes(client, topics, Careless(reader.reference)) as outcomes:
        for name in (topics.mails, topics.attachments):
            for message in client.topic(name).read():
                outcomes.add(message)

    from mail.generator.universe import universe

    instruments.write(Path(settings.parser.instruments), universe())
    desk = truths[0][1].sender
    of_desk = [truth for _, truth in truths if truth.sender == desk]
    # No mail was stored more than an hour ago, or by a sender of this name.
    assert "0 mails" in commands.run("reparse", "--until", "1h")
    assert "0 mails" in commands.run("reparse", "--from", "1h", "--sender", "nobody@")
    said = commands.run("reparse", "--from", "1h", "--until", "2100-01-01", "--sender", desk)
    assert f"reparse   {len(of_desk)} mails" in said

    latest = windows.latest(windows.readings(spark, topics.prices, settings.broker.address))
    rows = latest.select("message_id", "sender", "prices").collect()
    assert len(rows) == len(truths)
    read = {row.message_id: row for row in rows}
    for _, truth in truths:
        prices = {(p.instrument, p.side, p.price) for p in read[truth.message_id].prices}
        bogus = {price for price in prices if price[0] == "XS0000000000"}
        assert bool(bogus) == (truth.sender != desk)
        factor = 1 if truth.sender == desk else 10
        right = {(isin, side, factor * Decimal(price)) for isin, side, price, _ in truth.prices}
        assert len(prices - bogus - right) <= len(right) // 5
        assert len(prices - bogus) <= len(right)
    # The pipeline counts each price once.
    counted = windows.prices(latest).count()
    assert counted == sum(len(row.prices) for row in rows)
