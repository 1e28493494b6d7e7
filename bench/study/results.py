"""The results of a study, kept in a file for each measurement until they are put together."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Measurement:
    """A row of one subject in one round: figures, or the error that prevented them."""

    row: str
    peer: str
    client: str
    round: int
    scale: dict[str, Any]
    figures: dict[str, float] = field(default_factory=dict)
    series: list[tuple[int, float]] = field(default_factory=list)
    error: str = ""

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"{self.round}@{self.row}@{self.peer}@{self.client}.json"


@dataclass
class Store:
    """The folder of a study's measurements; an interrupted study goes on where it ended."""

    folder: Path

    def save(self, measurement: Measurement) -> None:
        """Keeps a measurement, whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / measurement.name
        beside = path.with_suffix(".new")
        beside.write_text(json.dumps(asdict(measurement)))
        beside.replace(path)

    def find(self, wanted: Measurement) -> Measurement | None:
        """Returns the kept measurement of the same work, unless it failed."""
        path = self.folder / wanted.name
        if not path.exists():
            return None
        found = read(path)
        return found if found.scale == wanted.scale and not found.error else None

    def all(self) -> Iterator[Measurement]:
        """Yields all measurements."""
        for path in sorted(self.folder.glob("*.json")):
            yield read(path)

    def clear(self) -> None:
        """Removes all measurements."""
        for path in self.folder.glob("*.json"):
            path.unlink()


def read(path: Path) -> Measurement:
    """Reads a measurement."""
    return Measurement(**json.loads(path.read_text()))
