"""Redis streams with an append-only file."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from study.peers.peer import Mode, Peer, Running, Setting, promised
from study.processes import Command, free_ports, is_listening, served

PROGRAM = Path("/usr/bin/redis-server")


class Redis(Peer):
    """Debian's redis-server; a stream is a value in memory, and its commands are in the file."""

    name = "redis"
    title = "Redis streams"
    packages = ((str(PROGRAM), "redis-server"),)
    has_batches = True
    promises = promised(
        cached="in memory and handed to the page cache", flushed="flushed, by group"
    )
    settings = (
        Setting("appendonly", "yes", "records survive the end of the process"),
        Setting("appendfsync", "everysec", "its default, and flushed every second", "cached"),
        Setting("appendfsync", "always", "flushed before it answers", "flushed"),
        Setting("save", "", "no snapshots beside the append-only file"),
        Setting("auto-aof-rewrite-percentage", "0", "no rewriting within a measurement"),
        Setting("stream-node-max-bytes", "4096", "the default"),
    )
    java_kind = "redis"

    def missing(self) -> str | None:
        """Returns that it is not installed."""
        return None if PROGRAM.exists() else "the Debian package redis-server is not installed"

    def version(self) -> str:
        """Returns the version that the program tells."""
        words = [str(PROGRAM), "--version"]
        done = subprocess.run(words, check=True, capture_output=True, text=True)
        return done.stdout.split("v=")[1].split()[0]

    @contextmanager
    def running(self, mode: Mode, folder: Path) -> Iterator[Running]:
        """Runs it during the block."""
        data = folder / "data"
        data.mkdir(parents=True, exist_ok=True)
        port = free_ports(1)[0]
        words = [str(PROGRAM), "--port", str(port), "--bind", "127.0.0.1", "--dir", str(data)]
        for name, value in self.rows(mode).items():
            words += [f"--{name}", value]
        with served(Command(words, folder, {})) as server:
            server.wait_until(lambda: is_listening(port), 30)
            yield Running(f"127.0.0.1:{port}", [server.process.pid], data)
