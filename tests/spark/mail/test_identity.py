"""What makes a mail the same mail."""

from mail.identity import identity

MAIL = b"From: a@b.example\nMessage-ID:\n <42@b.example>\nSubject: Prices\n\nDE 101.25\n\nBye\n"


def test_a_mail_that_comes_another_way_is_the_same() -> None:
    assert identity(MAIL).startswith("<42@b.example>/")
    assert identity(MAIL) == identity(MAIL.replace(b"\n", b"\r\n"))
    assert identity(MAIL) == identity(b"Received: from elsewhere\n" + MAIL)


def test_two_mails_with_one_message_id_are_two() -> None:
    assert identity(MAIL) != identity(MAIL.replace(b"101.25", b"101.26"))


def test_a_mail_without_message_id_is_known_by_its_content() -> None:
    bare = MAIL.replace(b"Message-ID:\n <42@b.example>\n", b"")
    assert identity(bare) == "/" + identity(MAIL).rpartition("/")[2]
    assert identity(b"").startswith("/")
