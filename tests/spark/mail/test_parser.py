"""The parser finds prices in every format, and ignores similar numbers."""

import io
import signal
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from email.message import EmailMessage
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from mail.generator.compose import Truth
from mail.generator.universe import universe
from mail.parser import files
from mail.parser.numbers import decimals_mark, number
from mail.parser.patience import time_limit
from mail.parser.read import Reader
from mail.parser.rows import Unreadable
from mail.quotes import Quote
from mail.report import Score, comparable, total

BOND, SHARE = (
    universe()[0],
    next(one for one in universe() if one.asset_class == "Equities" and one.currency == "EUR"),
)


def read(reader: Reader, text: str, subtype: str = "plain") -> list[tuple[str, str, str]]:
    """Returns side, price and currency of each quote in a mail with this body."""
    mail = EmailMessage()
    mail["Date"] = "Mon, 02 Mar 2026 10:15:00 +0100"
    mail["From"] = "Ada <Ada@Isar.Example>"
    mail.set_content(text, subtype=subtype)
    quotes = reader.read(mail.as_bytes(), run=1).prices
    return [(quote.side, quote.price, quote.currency) for quote in quotes]


def test_precision_and_recall_are_at_least_99_percent_in_every_format(
    mailbox: list[tuple[bytes, Truth]], reader: Reader
) -> None:
    scores: dict[str, Score] = defaultdict(Score)
    for raw, truth in mailbox:
        if truth.is_broken:
            with pytest.raises(Unreadable):
                reader.read(raw, run=1)
            continue
        reading = reader.read(raw, run=1)
        assert (reading.sender, reading.at) == (truth.sender, truth.at)
        found = {comparable(quote) for quote in reading.prices}
        true = {comparable(Quote(*price)) for price in truth.prices}
        score = scores[truth.kind]
        score.right += len(found & true)
        score.found += len(found)
        score.true += len(true)
    everything = total(scores)
    assert everything.true > 2000
    assert everything.precision >= 0.99
    assert everything.recall >= 0.99
    # In a small sample a typing error has more weight.
    assert {kind: score for kind, score in scores.items() if score.recall < 0.97} == {}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,234.56", "1234.56"),
        ("1.234,56", "1234.56"),
        ("1'234.5", "1234.5"),
        ("1\u00a0234,56", "1234.56"),
        ("1 234,56", "1234.56"),
        ("12,345,678", "12345678"),
        ("99,5", "99.5"),
        ("0.125", "0.125"),
    ],
)
def test_a_number_means_the_same_in_every_way_of_writing(text: str, value: str) -> None:
    assert number(text, None, None) == Decimal(value)


def test_three_digits_after_a_mark_are_decimals_if_the_instrument_has_as_many() -> None:
    assert number("101.125", None, Decimal("0.001")) == Decimal("101.125")
    assert number("101.125", None, Decimal("0.01")) == 101_125
    assert number("3,450", None, Decimal(1)) == 3450
    # For an unknown instrument, the other numbers of the mail decide.
    mark = decimals_mark(["1.000.000", "99,25", "7.5%"])
    assert mark == ","
    assert number("101.125", mark, None) == 101_125


@pytest.mark.parametrize("text", ["", "n/a", "1.2.3.4", "12:30", "2026-03-02", "1,23,456", "-"])
def test_a_value_that_is_not_a_number_is_none(text: str) -> None:
    assert number(text, None, None) is None


def test_dates_sizes_telephones_and_percentages_are_no_prices(reader: Reader) -> None:
    line = (
        f"{BOND.name} ({BOND.isin}): bid USD 101.250, size 5,000,000, settlement 05/03/2026, "
        "yield 4.25%, as of 10:15, call +44 20 7946 0958"
    )
    assert read(reader, line) == [("bid", "101.250", "USD")]


@pytest.mark.parametrize(
    "mark",
    [
        "-----Original Message-----",
        "---------- Forwarded message ---------",
        "On Monday Ada wrote:",
    ],
)
def test_prices_in_quoted_mails_do_not_count(reader: Reader, mark: str) -> None:
    text = f"{SHARE.ticker} 10.25 EUR\n\n{mark}\n> {SHARE.isin} last 9.75 EUR\n{BOND.isin} 99.5 USD"
    assert read(reader, text) == [("last", "10.25", "EUR")]


def test_a_table_that_only_lays_out_the_page_is_read_through(reader: Reader) -> None:
    html = f"""<table><tr><td><p>All prices in CHF.</p>
      <table><tr><th>ISIN</th><th>Bid</th><th>Ask</th></tr>
      <tr><td>{SHARE.isin}</td><td>1'010.50</td><td>&nbsp;</td></tr></table></td></tr></table>
      <blockquote>{SHARE.isin} last EUR 1.00</blockquote>"""
    assert read(reader, html, "html") == [("bid", "1010.50", "CHF")]


def test_an_unknown_instrument_counts_if_its_isin_is_one(reader: Reader) -> None:
    assert read(reader, "US0378331005 last USD 187.15") == [("last", "187.15", "USD")]
    assert read(reader, "US0378331006 last USD 187.15") == []


def test_a_mail_without_prices_is_read_and_has_none(reader: Reader) -> None:
    assert read(reader, "Lunch at 12.30? My number is 4471.93.") == []


def test_a_file_that_cannot_be_opened_has_a_reason(reader: Reader) -> None:
    mail = EmailMessage()
    mail["Date"] = "Mon, 02 Mar 2026 10:15:00 +0100"
    mail.set_content("See attached.")
    for name in ("a.pdf", "b.docx", "c.xlsx"):
        torn = EmailMessage()
        torn["Date"] = mail["Date"]
        torn.set_content("See attached.")
        torn.add_attachment(
            b"%PDF-PK\x03\x04 torn", maintype="application", subtype="x", filename=name
        )
        with pytest.raises(Unreadable, match=rf"attachment {name}: \w+"):
            reader.read(torn.as_bytes(), run=1)
    del mail["Date"]
    with pytest.raises(Unreadable, match=r"Date: '' is no date"):
        reader.read(mail.as_bytes(), run=1)


def test_an_archive_that_would_fill_the_memory_is_not_unpacked() -> None:
    bomb = io.BytesIO()
    with ZipFile(bomb, "w", ZIP_DEFLATED) as archive, archive.open("xl/sheet1.xml", "w") as sheet:
        for _ in range(513):
            sheet.write(bytes(2**20))
    assert len(bomb.getvalue()) < 2**20
    with pytest.raises(Unreadable, match=r"attachment a\.xlsx: ValueError: 537919488 bytes"):
        files.read("xlsx", "a.xlsx", bomb.getvalue())


def forever() -> None:
    """Runs forever, as a malicious file may make a reader do."""
    while True:
        pass


def stubborn() -> None:
    """Ignores every Exception, as readers of files do."""
    while True:
        with suppress(Exception):
            forever()


def careless() -> None:
    """Ignores an error once, even if it is not an Exception."""
    with suppress(BaseException):
        forever()
    forever()


def content() -> None:
    """Ignores the error, and returns."""
    with suppress(BaseException):
        forever()


@pytest.mark.parametrize("work", [stubborn, careless, content])
def test_a_reader_that_ignores_errors_is_given_up_too(work: Callable[[], None]) -> None:
    with pytest.raises(Unreadable, match=r"longer than 0\.05 s"), time_limit(0.05):
        work()


def test_a_file_that_never_ends_is_given_up() -> None:
    timer = signal.getitimer(signal.ITIMER_REAL)
    with pytest.raises(Unreadable, match=r"longer than 0\.05 s"), time_limit(0.05):
        forever()
    # A timer that was set before continues.
    assert signal.getitimer(signal.ITIMER_REAL)[0] <= timer[0]
    assert bool(signal.getitimer(signal.ITIMER_REAL)[0]) == bool(timer[0])
