"""NATS JetStream with a stream in files."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from study.peers.peer import Mode, Peer, Running, Setting, promised
from study.processes import Command, free_ports, is_listening, served

PROGRAM = Path("/usr/sbin/nats-server")


class Nats(Peer):
    """Debian's nats-server. This version flushes every two minutes, and has no setting for more."""

    name = "nats"
    title = "NATS JetStream"
    packages = ((str(PROGRAM), "nats-server"),)
    promises = promised(cached="in the page cache")
    settings = (
        Setting("jetstream.max_file_store", "1TB", "the study itself checks the room"),
        Setting("max_payload", "8MB", "records of 1 MB fit"),
        Setting("write_deadline", "60s", "a reader that falls behind is not cut off"),
        Setting("max_pending", "256MB", "a reader that falls behind is not cut off"),
    )
    java_kind = "nats"

    def missing(self) -> str | None:
        """Returns that it is not installed."""
        return None if PROGRAM.exists() else "the Debian package nats-server is not installed"

    def version(self) -> str:
        """Returns the version that the program tells."""
        words = [str(PROGRAM), "--version"]
        done = subprocess.run(words, check=True, capture_output=True, text=True)
        return done.stdout.split()[-1]

    @contextmanager
    def running(self, mode: Mode, folder: Path) -> Iterator[Running]:
        """Runs it during the block."""
        folder.mkdir(parents=True, exist_ok=True)
        port = free_ports(1)[0]
        rows = self.rows(mode)
        store = rows.pop("jetstream.max_file_store")
        lines = [f"{name}: {value}" for name, value in rows.items()]
        lines += [f"listen: 127.0.0.1:{port}", "jetstream {"]
        lines += [f'  store_dir: "{folder}/data"', f"  max_file_store: {store}", "}"]
        (folder / "nats.conf").write_text("\n".join(lines) + "\n")
        words = [str(PROGRAM), "--config", str(folder / "nats.conf")]
        with served(Command(words, folder, {})) as server:
            server.wait_until(lambda: is_listening(port), 30)
            yield Running(f"127.0.0.1:{port}", [server.process.pid], folder / "data")
