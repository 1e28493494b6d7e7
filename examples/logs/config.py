"""The settings of all programs of this example, from one file."""

import dataclasses
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

FILE = Path(__file__).with_name("config.toml")

_T = TypeVar("_T")


@dataclass(frozen=True)
class Topics:
    """The names of the topics."""

    system: str
    pages: str
    metrics: str
    alerts: str
    partitions: int

    @property
    def inputs(self) -> list[str]:
        """The topics with records to count."""
        return [self.system, self.pages, self.metrics]


@dataclass(frozen=True)
class Generator:
    """The settings of generated records."""

    seed: int
    seconds: int
    hosts: int
    records_per_second: int


@dataclass(frozen=True)
class Alerts:
    """The thresholds of alerts."""

    window_seconds: int
    delay_seconds: int
    errors: int
    checkpoint: str


@dataclass(frozen=True)
class Config:
    """All settings."""

    bootstrap: str
    topics: Topics
    generator: Generator
    alerts: Alerts


def read(path: Path = FILE) -> Config:
    """Parses a file, which must have every setting and no other."""
    tables = {"topics": Topics, "generator": Generator, "alerts": Alerts}
    try:
        settings = tomllib.loads(path.read_text())
        parts: dict[str, Any] = {
            name: _part(kind, settings.pop(name, {})) for name, kind in tables.items()
        }
        return _part(Config, {**settings, **parts})
    except (OSError, ValueError) as error:
        raise SystemExit(f"{path}: {error}") from error


def _part(kind: type[_T], settings: dict[str, Any]) -> _T:
    wanted = {field.name for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    if settings.keys() != wanted:
        strange, missing = sorted(settings.keys() - wanted), sorted(wanted - settings.keys())
        raise ValueError(f"{kind.__name__}: not known: {strange}, missing: {missing}")
    return kind(**settings)
