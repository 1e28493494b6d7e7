"""The configuration: one TOML file, read into one frozen class for each of its tables.

An unknown table or key is refused with the nearest name; so is a value of another
type.
"""

import tomllib
from argparse import ArgumentParser
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

_Table = TypeVar("_Table")
DEFAULT = Path(__file__).with_name("mail.toml")


class ConfigError(ValueError):
    """The file is invalid; the message names the position and the expected value."""


@dataclass(frozen=True)
class Broker:
    """The broker of the topics."""

    address: str = ""


@dataclass(frozen=True)
class Topics:
    """The names of the topics."""

    mails: str = "mails"
    attachments: str = "mails.attachments"
    prices: str = "prices"
    unread: str = "mails.unread"
    partitions: int = 4
    keep_days: int = 30


@dataclass(frozen=True)
class Inlet:
    """The source of mails, and their treatment after storing."""

    source: str = "folder"
    path: str = "inbox"
    after: str = "move"
    done: str = "done"
    rejected: str = "rejected"
    poll: float = 0.5


@dataclass(frozen=True)
class Imap:
    """An IMAP account."""

    host: str = "localhost"
    port: int = 993
    tls: bool = True
    user: str = ""
    password_env: str = "MAIL_PASSWORD"
    mailbox: str = "INBOX"
    done: str = ""


@dataclass(frozen=True)
class Parser:
    """The parser service."""

    group: str = "parsers"
    instruments: str = "instruments.csv"


@dataclass(frozen=True)
class Pipeline:
    """The Spark pipeline."""

    master: str = "local[*]"
    window: str = "5 minutes"
    output: str = "windows"
    picture: str = "prices.png"


@dataclass(frozen=True)
class Generator:
    """The generated mailbox."""

    mails: int = 3000
    seed: int = 1
    day: date = date(2026, 3, 2)
    large: int = 2
    ledger: str = "ledger.jsonl"


@dataclass(frozen=True)
class Config:
    """All settings."""

    broker: Broker = field(default_factory=Broker)
    topics: Topics = field(default_factory=Topics)
    inlet: Inlet = field(default_factory=Inlet)
    imap: Imap = field(default_factory=Imap)
    parser: Parser = field(default_factory=Parser)
    pipeline: Pipeline = field(default_factory=Pipeline)
    generator: Generator = field(default_factory=Generator)


def argument_parser(name: str, description: str) -> ArgumentParser:
    """Returns a parser with the argument of every command: the file."""
    parser = ArgumentParser(prog=f"python -m mail.{name}", description=description)
    parser.add_argument("--config", type=Path, default=DEFAULT, help="the file (mail.toml)")
    return parser


def read(path: Path) -> Config:
    """Reads the file.

    Raises:
        ConfigError: It is not valid TOML, or a value is invalid.
    """
    try:
        document = tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error
    tables = {known.name: known.default_factory for known in fields(Config)}
    _refuse_unknown(f"{path}: table ", document, tables)
    config = Config(
        **{
            name: _table(f"{path}: {name}.", type(getattr(Config(), name)), document.get(name, {}))
            for name in tables
        }
    )
    _refuse_other(path, "inlet.source", config.inlet.source, ("folder", "imap", "mbox"))
    _refuse_other(path, "inlet.after", config.inlet.after, ("move", "remove", "keep"))
    return config


def _table(where: str, made: type[_Table], given: Mapping[str, Any]) -> _Table:
    defaults = made()
    known = {name: type(value) for name, value in vars(defaults).items()}
    _refuse_unknown(where, given, known)
    for key, value in given.items():
        accepted = (int, float) if known[key] is float else (known[key],)
        if type(value) not in accepted:
            raise ConfigError(f"{where}{key}: invalid value {value!r}: {known[key].__name__}")
    return made(**given)


def _refuse_unknown(where: str, given: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    for name in given:
        if name not in known:
            nearest = get_close_matches(name, known, n=1, cutoff=0.0)[0]
            raise ConfigError(f"{where}{name} is not known; the nearest is {nearest}")


def _refuse_other(path: Path, key: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ConfigError(f"{path}: {key}: {value!r} is none of {', '.join(choices)}")
