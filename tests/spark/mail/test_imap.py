"""The inlet with a real IMAP server."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import streamlog
from mail.config import Generator
from mail.config import Imap as Settings
from mail.generator.compose import Mailbox, Truth
from mail.identity import identity
from mail.inlet.imap import Imap
from py.support.broker import until
from spark.mail.conftest import Commands
from spark.mail.imap_server import PASSWORD, USER, ImapServer
from spark.mail.test_inlet import end


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ImapServer]:
    """A separate server for the test."""
    with ImapServer(tmp_path / "imap") as server:
        yield server


def account(server: ImapServer, done: str = "") -> str:
    """The account, as a table of the configuration."""
    return f"""
[imap]
host = "127.0.0.1"
port = {server.port}
tls = false
user = "{USER}"
done = "{done}"
"""


def keys(client: streamlog.Client, commands: Commands) -> list[bytes]:
    """Returns the keys of all stored mails."""
    topics = commands.settings.topics
    return [
        message.key
        for name in (topics.mails, topics.attachments)
        for message in client.topic(name).read()
    ]


def test_mails_of_an_account_are_removed_once_they_are_stored(
    configured: Callable[..., Commands],
    client: streamlog.Client,
    server: ImapServer,
    mailbox: list[tuple[bytes, Truth]],
) -> None:
    commands = configured(account(server), inlet='source = "imap"')
    large, _ = Mailbox(Generator(mails=1, seed=3, large=1)).mail(0)
    mails = [large, *(raw for raw, _ in mailbox[:25])]
    server.deliver(mails)
    there = server.mails()
    said = commands.run("inlet", "--once")
    assert "26 mails stored" in said
    assert sorted(keys(client, commands)) == sorted(identity(raw).encode() for raw in there)
    assert max(map(len, there)) > 20_000_000
    assert server.count("INBOX") == 0


def test_neither_a_killed_inlet_nor_a_server_outage_loses_a_mail(
    configured: Callable[..., Commands],
    client: streamlog.Client,
    server: ImapServer,
    mailbox: list[tuple[bytes, Truth]],
) -> None:
    with server.account() as own:
        own.create("Done")
    commands = configured(account(server, done="Done"), inlet='source = "imap"')
    mails = [raw for raw, _ in mailbox[:60]]
    server.deliver(mails[:40])
    there = server.mails()
    killed = commands.start("inlet")
    topics = commands.settings.topics
    until(lambda: end(client, topics.mails) + end(client, topics.attachments) > 0, 100)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    inlet = commands.start("inlet")
    # Do not count the moved mails: an interrupted move may be repeated.
    until(lambda: server.count("INBOX") == 0, 100)
    server.stop()
    server.start()
    inlet.send_signal(signal.SIGSTOP)
    server.deliver(mails[40:])
    there += server.mails()
    inlet.send_signal(signal.SIGCONT)
    until(lambda: server.count("INBOX") == 0, 100)
    inlet.terminate()
    said, _ = inlet.communicate(timeout=100)
    assert inlet.returncode == 0, said
    assert server.count("Done") >= 60
    assert set(keys(client, commands)) == {identity(raw).encode() for raw in there}
    assert len(there) == 60


def test_an_inlet_run_once_waits_for_an_unreachable_server(
    configured: Callable[..., Commands],
    client: streamlog.Client,
    server: ImapServer,
    mailbox: list[tuple[bytes, Truth]],
) -> None:
    commands = configured(account(server), inlet='source = "imap"')
    server.deliver([raw for raw, _ in mailbox[:5]])
    server.stop()
    inlet = commands.start("inlet", "--once")
    assert inlet.stdout is not None
    assert "again in 1 s" in inlet.stdout.readline()
    server.start()
    said, _ = inlet.communicate(timeout=100)
    assert inlet.returncode == 0, said
    assert "5 mails stored" in said
    assert len(keys(client, commands)) == 5


@pytest.mark.parametrize("is_renumbered", [False, True])
def test_no_mail_is_released_after_a_server_has_renumbered_them(
    server: ImapServer, monkeypatch: pytest.MonkeyPatch, is_renumbered: bool
) -> None:
    monkeypatch.setenv("MAIL_PASSWORD", PASSWORD)
    mails = [b"Message-ID: <%d@test>\r\n\r\nNone\r\n" % number for number in range(3)]
    server.deliver(mails)
    inbox = Imap(Settings("127.0.0.1", server.port, tls=False, user=USER))
    reading = inbox.waiting()
    taken, too_large = next(reading), next(reading)
    server.stop()
    # The connection breaks while mails are read; mails read before are stored then.
    assert list(reading) == []
    if is_renumbered:
        server.renumber()
    server.start()
    inbox.rejected(too_large, "of its size")
    inbox.stored([taken])
    left = [identity(mail.raw) for mail in inbox.waiting()]
    expected = [0, 1, 2] if is_renumbered else [2]
    assert sorted(left) == [identity(mails[number]) for number in expected]
    server.stop()
    assert list(inbox.waiting()) == []
