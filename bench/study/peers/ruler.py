"""The ruler: the smallest server that does the same work, in `bench/ruler`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from servers import BUILT

from study.peers.peer import Mode, Peer, Running, promised
from study.processes import Command, served


class Ruler(Peer):
    """One thread, one file, no recovery: what the hardware allows through system calls."""

    name = "ruler"
    title = "ruler"
    clients = ("load",)
    needs_java = False
    has_batches = True
    has_one_log = True
    promises = promised(cached="in the page cache", flushed="flushed, by group")

    def version(self) -> str:
        """Returns the version, which is the checkout's."""
        return "bench/ruler"

    @contextmanager
    def running(self, mode: Mode, folder: Path) -> Iterator[Running]:
        """Runs it during the block."""
        flush = ["--flush"] if mode == "flushed" else []
        words = [str(BUILT / "ruler"), str(folder / "log"), *flush]
        with served(Command(words, folder, {})) as server:
            server.wait_until(lambda: server.log().startswith("ready "), 10)
            address = server.log().split()[1]
            yield Running(address, [server.process.pid], folder / "log")
