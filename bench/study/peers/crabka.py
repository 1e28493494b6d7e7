"""Crabka, a broker in Rust that was published as a crate."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from study.errors import PeerError
from study.peers.peer import Mode, Peer, Running, promised

GONE = (
    "the crate crabka-broker is retired: its last release, 0.3.9, contains no code, and the "
    "earlier ones are withdrawn"
)


class Crabka(Peer):
    """A peer that cannot be installed any more; it is listed so that its row says so."""

    name = "crabka"
    title = "Crabka"
    clients = ("load",)
    needs_java = False
    promises = promised(cached="unknown")

    def missing(self) -> str | None:
        """Returns that nothing can be installed."""
        return GONE

    def version(self) -> str:
        """Returns the last version."""
        return "0.3.9"

    @contextmanager
    def running(self, mode: Mode, folder: Path) -> Iterator[Running]:
        """Fails."""
        raise PeerError(GONE)
        yield
