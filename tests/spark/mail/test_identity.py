"""The identity of a mail, which detects duplicates."""

from mail.identity import identity

DATE = b"Date: Mon, 02 Mar 2026 09:00:00 +0100\n"
MAIL = (
    b"From: A <a@b.example>\n"
    + DATE
    + b"Message-ID:\n <42@b.example>\nSubject: Prices\n\nDE 101.25\n\nBye\n"
)
BARE = MAIL.replace(b"Message-ID:\n <42@b.example>\n", b"")


def test_a_mail_that_comes_another_way_is_the_same() -> None:
    assert identity(MAIL).startswith("<42@b.example>/")
    assert identity(MAIL) == identity(MAIL.replace(b"\n", b"\r\n"))
    assert identity(MAIL) == identity(b"Received: from elsewhere\n" + MAIL)


def test_headers_that_a_server_refolds_are_the_same() -> None:
    assert identity(MAIL) == identity(MAIL.replace(b"A <a@b.example>", b"A\n <a@b.example>"))
    assert identity(MAIL) == identity(MAIL.replace(b"Date: Mon, ", b"DATE:  Mon,\n\t"))


def test_two_mails_with_one_message_id_are_two() -> None:
    assert identity(MAIL) != identity(MAIL.replace(b"101.25", b"101.26"))


def test_a_message_id_cannot_make_a_key_arbitrarily_long() -> None:
    for name in (b"<" + b"x" * 20_000 + b"@b.example>", b"\xff" * 20_000):
        long = MAIL.replace(b"<42@b.example>", name)
        assert len(identity(long).encode()) < 4096
        assert identity(long) != identity(long.replace(b"101.25", b"101.26"))


def test_a_mail_without_message_id_is_known_by_its_content_its_date_and_its_sender() -> None:
    assert identity(BARE) == "/" + identity(MAIL).rpartition("/")[2]
    later = BARE.replace(b"09:00:00", b"10:00:00")
    others = [BARE.replace(b"a@b", b"c@b"), later, BARE.replace(DATE, b"")]
    assert len({identity(raw) for raw in (BARE, *others)}) == 4
    assert identity(b"").startswith("/")
