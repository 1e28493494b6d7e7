"""The inlet stores every mail of a folder or an mbox before it removes it, even if it is killed."""

import hashlib
import mailbox as boxes
import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

import pytest

import streamlog
from mail.config import Generator
from mail.generator.compose import Mailbox, Truth
from mail.inlet.folder import Folder
from mail.inlet.source import Waiting
from mail.parser.read import Reader
from mail.topics import MAIL_BYTES, SMALL_BYTES
from py.support.broker import until
from spark.mail.conftest import Commands

MAILS = 800
KILLS = 3
ATTEMPTS = 12


def digest(raw: bytes) -> str:
    """Returns a digest of the content of a mail."""
    return hashlib.sha256(raw).hexdigest()


def stored(client: streamlog.Client, topic: str) -> list[str]:
    """Returns the digests of all mails in a topic."""
    return [digest(message.value or b"") for message in client.topic(topic).read()]


def end(client: streamlog.Client, topic: str) -> int:
    """Returns the number of records that a topic has had."""
    if topic not in client.admin.topics():
        return 0
    return sum(offset or 0 for offset in client.admin.end_offsets(topic).values())


def has(client: streamlog.Client, topic: str, count: int) -> bool:
    """Returns true if a topic has had at least this many records."""
    return end(client, topic) >= count


def fill(folder: Path, count: int, first: int = 0) -> set[str]:
    """Writes small mails numbered from `first`, and returns their digests."""
    folder.mkdir(exist_ok=True)
    digests = set()
    for number in range(first, first + count):
        raw = f"Message-ID: <{number}@test>\n\nUS0378331005 last USD {number}.25\n".encode()
        (folder / f"{number:05d}.eml").write_bytes(raw)
        digests.add(digest(raw))
    return digests


def test_an_inlet_that_is_killed_loses_no_mail(
    configured: Callable[..., Commands], client: streamlog.Client, folder: Path
) -> None:
    random = Random(7)
    commands = configured()
    written: set[str] = set()
    mails = commands.settings.topics.mails
    kills = 0
    for attempt in range(ATTEMPTS):
        written |= fill(folder / "inbox", MAILS, attempt * MAILS)
        target = end(client, mails) + random.randrange(1, MAILS // 2)
        process = commands.start("inlet", "--once")
        until(partial(has, client, mails, target), 100)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        left = {path.name for path in (folder / "inbox").iterdir()}
        done = {path.name for path in (folder / "done").rglob("*.eml")}
        assert len(left | done) == len(written)
        acknowledged = set(stored(client, mails))
        assert {digest((folder / "done" / name).read_bytes()) for name in done} <= acknowledged
        # An inlet that had finished its work was not killed while working.
        kills += bool(left)
        if kills == KILLS:
            break
    assert kills == KILLS, f"seed 7: {ATTEMPTS} kills, of which {kills} came in time"
    commands.run("inlet", "--once")
    assert list((folder / "inbox").iterdir()) == []
    assert set(stored(client, mails)) == written
    assert {digest(path.read_bytes()) for path in (folder / "done").iterdir()} == written


def test_a_file_is_a_mail_once_nobody_writes_to_it(
    configured: Callable[..., Commands], client: streamlog.Client, folder: Path
) -> None:
    commands = configured(inlet='after = "remove"')
    fill(folder / "inbox", 1)
    process = commands.start("inlet")
    mails = commands.settings.topics.mails
    until(lambda: end(client, mails) == 1, 100)
    with (folder / "inbox" / "slow.eml").open("wb") as slow:
        slow.write(b"Message-ID: <slow@test>\n\nUS0378331005 last ")
        slow.flush()
        renamed = folder / "inbox" / ".hidden.part"
        renamed.write_bytes(b"Message-ID: <renamed@test>\n\n")
        renamed.rename(folder / "inbox" / "renamed.eml")
        until(lambda: end(client, mails) == 2, 100)
        # The later file was examined after the other one, and left alone.
        assert (folder / "inbox" / "slow.eml").exists()
        slow.write(b"USD 9.25\n")
    until(lambda: end(client, mails) == 3, 100)
    until(lambda: list((folder / "inbox").iterdir()) == [], 100)
    process.terminate()
    said, _ = process.communicate(timeout=100)
    assert process.returncode == 0, said
    whole = b"Message-ID: <slow@test>\n\nUS0378331005 last USD 9.25\n"
    assert digest(whole) in stored(client, mails)


def test_a_mail_of_20_mb_passes_and_is_read(
    configured: Callable[..., Commands], client: streamlog.Client, folder: Path, reader: Reader
) -> None:
    commands = configured()
    raw, truth = Mailbox(Generator(mails=1, seed=3, large=1)).mail(0)
    assert len(raw) > 20_000_000
    (folder / "inbox").mkdir()
    (folder / "inbox" / "large.eml").write_bytes(raw)
    too_large = b"Message-ID: <huge@test>\n\n" + b"x" * MAIL_BYTES
    (folder / "inbox" / "huge.eml").write_bytes(too_large)
    said = commands.run("inlet", "--once")
    assert "1 rejected" in said
    assert stored(client, commands.settings.topics.mails) == []
    (message,) = client.topic(commands.settings.topics.attachments).read()
    assert digest(message.value or b"") == digest(raw)
    quotes = reader.read(message.value or b"", run=1).prices
    assert [(q.instrument, q.side, q.price, q.currency) for q in quotes] == truth.prices
    assert (folder / "rejected" / "huge.eml").read_bytes() == too_large
    assert str(MAIL_BYTES) in (folder / "rejected" / "huge.eml.reason").read_text()


def test_malicious_mails_stop_no_other(
    configured: Callable[..., Commands], client: streamlog.Client, folder: Path
) -> None:
    commands = configured()
    (inbox := folder / "inbox").mkdir()
    # Just small enough for the topic of ordinary mails, without the record's overhead.
    named = b"Message-ID: <" + b"x" * 20_000 + b"@test>\n\n"
    (inbox / "a.eml").write_bytes(named.ljust(SMALL_BYTES, b"x"))
    # A file name that is not valid UTF-8.
    (inbox / os.fsdecode(b"b\xfc.eml")).write_bytes(b"x" * (MAIL_BYTES + 1))
    written = fill(inbox, 1)
    said = commands.run("inlet", "--once")
    assert "rejected b\ufffd.eml" in said
    assert len(list((folder / "rejected").glob("*.eml"))) == 1
    assert written < set(stored(client, commands.settings.topics.mails))
    assert list(inbox.iterdir()) == []


def test_an_mbox_and_a_users_folder_are_not_changed(
    configured: Callable[..., Commands],
    client: streamlog.Client,
    folder: Path,
    mailbox: list[tuple[bytes, Truth]],
) -> None:
    commands = configured()
    path, own = folder / "own.mbox", folder / "own"
    own.mkdir()
    box = boxes.mbox(path)
    for number, (raw, _) in enumerate(mailbox[:20]):
        box.add(raw)
        (own / f"{number}.eml").write_bytes(raw)
    box.close()
    before = (path.read_bytes(), sorted(own.iterdir()))
    said = commands.run("inlet", path, "--once")
    assert "20 mails stored" in said
    commands.run("inlet", own, "--once")
    assert (path.read_bytes(), sorted(own.iterdir())) == before
    topics = commands.settings.topics
    keys = [
        message.key
        for name in (topics.mails, topics.attachments)
        for message in client.topic(name).read()
    ]
    # The mail is the same, whichever way it came.
    assert len(keys) == 40
    assert len(set(keys)) == 20


def test_two_mails_of_one_name_do_not_overwrite_each_other(tmp_path: Path) -> None:
    inbox = Folder(tmp_path / "in", "move", tmp_path / "done", tmp_path / "rejected")
    for raw in (b"one", b"two", b"two"):
        (tmp_path / "in" / "a.eml").write_bytes(raw)
        inbox.stored(list(inbox.waiting()))
    assert sorted(path.read_bytes() for path in (tmp_path / "done").iterdir()) == [b"one", b"two"]


@pytest.mark.parametrize("after", ["move", "remove", "keep"])
@pytest.mark.parametrize("is_renamed", [True, False], ids=["renamed", "rewritten"])
def test_a_name_that_is_used_again_is_another_mail(
    tmp_path: Path, after: str, is_renamed: bool
) -> None:
    inbox = Folder(tmp_path / "in", after, tmp_path / "done", tmp_path / "rejected")
    path = tmp_path / "in" / "a.eml"
    path.write_bytes(b"one")
    mails = list(inbox.waiting())
    place = tmp_path / "in" / ".a" if is_renamed else path
    place.write_bytes(b"another")
    place.rename(path)
    inbox.stored(mails)
    assert path.read_bytes() == b"another"
    assert list(inbox.waiting()) == [Waiting("a.eml", b"another", 7)]


def test_a_file_removed_meanwhile_is_not_an_error(tmp_path: Path) -> None:
    inbox = Folder(tmp_path / "in", "remove", tmp_path / "done", tmp_path / "rejected")
    (tmp_path / "in" / "a.eml").write_bytes(b"a")
    mails = list(inbox.waiting())
    (tmp_path / "in" / "a.eml").unlink()
    inbox.stored(mails)
    assert list(inbox.waiting()) == []


def test_a_replaced_file_stops_nothing(tmp_path: Path) -> None:
    inbox = Folder(tmp_path / "in", "keep", tmp_path / "done", tmp_path / "rejected")
    (tmp_path / "in" / "a.eml").write_bytes(b"a")
    (tmp_path / "in" / "b.eml").write_bytes(b"b")
    found = []
    for mail in inbox.waiting():
        found.append(mail)
        (tmp_path / "in" / "b.eml").unlink(missing_ok=True)
    assert found == [Waiting("a.eml", b"a", 1)]
