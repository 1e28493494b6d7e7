"""Fixtures of the tests of the mail example: a mailbox, a configuration, and its commands."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from mail import config
from mail.generator.compose import Mailbox, Truth
from mail.generator.universe import universe
from mail.parser.read import Reader
from mail.parser.reference import Reference
from py.support.broker import BrokerProcess

ROOT = Path(__file__).parents[3]
SEED = 11
_numbers = count()


@dataclass(frozen=True)
class Commands:
    """The commands of the example, with one configuration."""

    path: Path
    """Uses the configuration in `path`."""

    @property
    def settings(self) -> config.Config:
        """The settings in the configuration."""
        return config.read(self.path)

    def start(self, name: str, *arguments: str | Path) -> "subprocess.Popen[str]":
        """Starts a command."""
        return subprocess.Popen(
            [sys.executable, "-m", f"mail.{name}", "--config", self.path, *arguments],
            cwd=self.path.parent,
            env={**os.environ, "PYTHONPATH": str(ROOT / "examples"), "MAIL_PASSWORD": "secret"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, name: str, *arguments: str | Path) -> str:
        """Runs a command to its end, and returns its output."""
        process = self.start(name, *arguments)
        said, _ = process.communicate(timeout=120)
        assert process.returncode == 0, said
        return said


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder for the test's inbox and all other files."""
    return tmp_path


@pytest.fixture
def configured(broker: BrokerProcess, folder: Path) -> Callable[..., Commands]:
    """Writes a configuration with separate topics; the given lines come first."""

    def make(more: str = "", inlet: str = "") -> Commands:
        number = next(_numbers)
        path = folder / "mail.toml"
        path.write_text(
            f"""
broker.address = "{broker.address}"
[topics]
mails = "mails-{number}"
attachments = "mails-{number}.attachments"
prices = "prices-{number}"
unread = "unread-{number}"
partitions = 2
[inlet]
path = "{folder}/inbox"
done = "{folder}/done"
rejected = "{folder}/rejected"
poll = 0.05
{inlet}
[parser]
group = "parsers-{number}"
instruments = "{folder}/instruments.csv"
[pipeline]
output = "{folder}/windows"
picture = "{folder}/prices.png"
[generator]
seed = {SEED}
large = 0
ledger = "{folder}/ledger.jsonl"
{more}
"""
        )
        return Commands(path)

    return make


@pytest.fixture(scope="session")
def mailbox() -> list[tuple[bytes, Truth]]:
    """Three hundred mails, with the true prices of each."""
    return list(Mailbox(config.Generator(mails=300, seed=SEED, large=0)))


@pytest.fixture(scope="session")
def reader() -> Reader:
    """A reader with all instruments."""
    return Reader(Reference(universe()))
