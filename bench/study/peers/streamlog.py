"""streamlog as `pip install` brings it."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from study.peers.peer import Mode, Peer, Running, Setting, promised
from study.processes import Command, served


class Streamlog(Peer):
    """The broker of this checkout, a release build, with its defaults."""

    name = "streamlog"
    title = "streamlog"
    is_required = True
    clients = ("load", "java")
    needs_java = False
    has_batches = True
    has_partitions = True
    promises = promised(cached="in the page cache", flushed="flushed, by group")
    settings = (
        Setting("write.caching", "true", "Kafka's promise: acknowledged unflushed", "cached"),
        Setting(
            "log.retention.hours",
            "168",
            "the default; stated because nothing is deleted during a run",
        ),
    )
    load_options = ("--create",)
    java_kind = "kafka"

    def version(self) -> str:
        """Returns the version that the command tells."""
        words = [command(), "--version"]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()[-1]

    @contextmanager
    def running(self, mode: Mode, folder: Path) -> Iterator[Running]:
        """Runs it during the block."""
        data = folder / "data"
        words = [command(), "broker", "--listen", "127.0.0.1:0", "--data-dir", str(data)]
        for name, value in self.rows(mode).items():
            words += ["--set", f"{name}={value}"]
        with served(Command([*words, "--log", "error"], folder, {})) as server:
            server.wait_until(lambda: server.log().startswith("ready "), 30)
            address = server.log().split()[1]
            yield Running(address, [server.process.pid], data)


def command() -> str:
    """The command beside this interpreter, which `make setup` installs, or else on the PATH."""
    beside = Path(sys.executable).parent / "streamlog"
    return str(beside) if beside.exists() else shutil.which("streamlog") or str(beside)
