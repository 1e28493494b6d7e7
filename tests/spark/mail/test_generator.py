"""The generated mailbox is reproducible, realistic, and consistent with its ledger."""

import json
import re
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from email.utils import parsedate_to_datetime

from mail import instruments
from mail.config import Generator
from mail.generator.compose import Mailbox, Truth
from mail.generator.numbers import SEPARATORS, number
from mail.generator.senders import senders
from mail.generator.universe import ASSET_CLASSES, universe
from mail.identity import opened
from spark.mail.conftest import SEED, Commands

PLAIN = {"blocks", "pipes", "semicolons", "sentences", "shorthand", "table"}


def test_there_are_70_000_instruments_of_25_classes_that_can_be_distinguished() -> None:
    everything = universe()
    assert len(everything) == 70_000
    assert len({one.asset_class for one in everything}) == len(ASSET_CLASSES) == 25
    for key in ("isin", "ticker", "name"):
        assert len({getattr(one, key) for one in everything}) == 70_000
    assert all(instruments.check_digit(one.isin[:11]) == one.isin[11] for one in everything)
    # The ISIN of a real security.
    assert instruments.check_digit("US037833100") == "5"


def test_one_seed_is_one_truth_and_another_is_another(mailbox: list[tuple[bytes, Truth]]) -> None:
    truths = [truth for _, truth in mailbox]
    assert truths_of(SEED, 300, first=20) == truths[:20]
    assert truths_of(SEED + 1, 300, first=20) != truths[:20]


def truths_of(seed: int, mails: int, first: int) -> list[Truth]:
    """Returns the true prices of the first mails."""
    box = Mailbox(Generator(mails=mails, seed=seed, large=0))
    return [box.mail(number)[1] for number in range(first)]


def test_every_price_of_the_ledger_stands_in_its_mail(mailbox: list[tuple[bytes, Truth]]) -> None:
    styles = {sender.address: sender.numbers for sender in senders(SEED)}
    looked_at = 0
    for raw, truth in mailbox:
        mail = opened(raw)
        assert mail["Message-ID"] == truth.message_id
        assert parsedate_to_datetime(mail["Date"]).isoformat()[:4] == truth.at[:4]
        if truth.kind in PLAIN:
            text = mail.get_content()
            for _, _, price, _ in truth.prices:
                assert number(Decimal(price), styles[truth.sender]) in text
                looked_at += 1
    assert looked_at > 500


def test_a_mailbox_has_all_kinds_of_mails_and_nine_prices_in_each(
    mailbox: list[tuple[bytes, Truth]],
) -> None:
    kinds = Counter(truth.kind for _, truth in mailbox)
    assert set(kinds) >= PLAIN | {"html", "pdf", "docx", "xlsx", "chat"}
    prices = sum(len(truth.prices) for _, truth in mailbox)
    assert 8 < prices / len(mailbox) < 10
    assert {sender.numbers for sender in senders(SEED)} == set(SEPARATORS)
    everything = b"".join(raw for raw, _ in mailbox)
    for noise in (rb"wrote:", rb"Forwarded message", rb"Tel\. \+44", rb"professional clients"):
        assert re.search(noise, everything)


def test_the_command_writes_mails_ledger_and_instruments(
    configured: Callable[..., Commands],
) -> None:
    commands = configured("mails = 12")
    said = commands.run("generator", "--mails", "8")
    folder = commands.path.parent
    assert "8 mails" in said
    assert len(list((folder / "inbox").glob("*.eml"))) == 8
    lines = (folder / "ledger.jsonl").read_text().splitlines()
    truths = [json.loads(json.dumps(truth.as_dict())) for truth in truths_of(SEED, 8, first=8)]
    assert [json.loads(line) for line in lines] == truths
    assert sum(1 for _ in instruments.read(folder / "instruments.csv")) == 70_000
