"""Invalid settings are refused by name, before anything starts."""

from collections.abc import Callable
from pathlib import Path

import pytest

from mail import config
from spark.mail.conftest import Commands


def test_the_file_of_the_example_fits() -> None:
    settings = config.read(config.DEFAULT)
    assert settings.topics.attachments == "mails.attachments"
    assert settings.pipeline.window == "5 minutes"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[inlett]", r"table inlett is not known; the nearest is inlet$"),
        ("[inlet]\npol = 1.0", r"inlet\.pol is not known; the nearest is poll$"),
        ("[inlet]\npoll = 'soon'", r"inlet\.poll: invalid value 'soon': float$"),
        ("[inlet]\nsource = 'pop3'", r"inlet\.source: 'pop3' is none of folder, imap, mbox$"),
        ("[inlet]\npoll = = 1", r"mail\.toml: .*line 2"),
    ],
)
def test_invalid_values_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mail.toml"
    path.write_text(text)
    with pytest.raises(config.ConfigError, match=message):
        config.read(path)


def test_a_command_reports_it_and_starts_nothing(configured: Callable[..., Commands]) -> None:
    commands = configured(inlet='aftr = "remove"')
    process = commands.start("inlet", "--once")
    said, _ = process.communicate(timeout=100)
    assert process.returncode == 1
    assert "inlet.aftr is not known; the nearest is after" in said
    assert not (commands.path.parent / "inbox").exists()
