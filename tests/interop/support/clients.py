"""The clients of the matrix, as `clients.toml` has them."""

import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

INTEROP = Path(__file__).parents[1]
BUILT = INTEROP.parents[1] / "target" / "interop"
PYTHON = "python"
# No family of clients, but chosen among them: Apache Kafka's own tools.
APACHE = "apache"


@dataclass(frozen=True)
class Client:
    """A client: where it comes from, how its driver is started, and what it cannot do itself.

    `limits` maps patterns of cells to reasons. A limit excuses nothing: the driver has to answer
    `unsupported` there, and one that works after all fails the run.
    """

    name: str
    version: str
    family: str
    about: str
    command: tuple[str, ...]
    limits: dict[str, str] = field(default_factory=dict, compare=False)
    # The settings with which it outlasts the election of a leader; empty if its defaults do.
    patience: str = ""

    def limit(self, cell: str) -> str | None:
        """The reason why this cell cannot work, or None if it must."""
        for pattern, reason in self.limits.items():
            if fnmatchcase(cell, pattern):
                return reason
        return None

    def driver_command(self) -> list[str]:
        """The command line of its driver; a missing program is an error of whoever starts it."""
        names = {"python": sys.executable, "built": str(BUILT), "drivers": str(INTEROP / "drivers")}
        return [part.format_map(names) for part in self.command]


def all_clients() -> list[Client]:
    """Every client, in the order of the page."""
    table = tomllib.loads((INTEROP / "clients.toml").read_text())
    return [Client(name, command=tuple(row.pop("command")), **row) for name, row in table.items()]


def chosen(families: Sequence[str]) -> list[Client]:
    """The clients of these families, or the client of a name; `all` is everyone.

    Raises:
        ValueError: A name is neither.
    """
    clients = all_clients()
    known = {client.family for client in clients} | {client.name for client in clients}
    known |= {APACHE, "all"}
    if unknown := set(families) - known:
        raise ValueError(f"no such clients: {sorted(unknown)}; there are {sorted(known)}")
    return [c for c in clients if {c.family, c.name, "all"} & set(families)]
