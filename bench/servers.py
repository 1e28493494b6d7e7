"""The compared servers: their start, their load, and measurements while they run.

Every server is restarted for every measurement, in a fresh directory, on a core of its own; the
load has the other core.
"""

import json
import mmap
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

BENCH = Path(__file__).parent
# A check that the benchmarks work needs no optimised build; a measurement does.
BUILT = BENCH / "target" / os.environ.get("STREAMLOG_BENCH_BUILD", "release")
BROKER = BENCH.parent / "target" / "release" / "streamlog"
SERVER_CORE, LOAD_CORE = ("taskset", "-c", "1"), ("taskset", "-c", "0")
REALTIME = ("chrt", "--fifo", "10")
TOUCHED_BYTES = 4 << 30


@dataclass(frozen=True)
class Server:
    """The command of a server; `{data}` is its directory. It prints `ready HOST:PORT`."""

    command: tuple[str, ...]
    flushed: tuple[str, ...] = ()
    cached: tuple[str, ...] = ()
    load_options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Place:
    """The place of servers and load: a directory on the disk to measure, and their scheduling."""

    data: Path
    priority: tuple[str, ...] = ()
    is_pinned: bool = True
    """True if server and load have a core each; otherwise both use all cores."""

    def server(self, *command: str) -> list[str]:
        """Returns the command of a server in this place."""
        return [*(SERVER_CORE if self.is_pinned else ()), *self.priority, *command]

    def load(self, *command: str) -> list[str]:
        """Returns the command of a load in this place."""
        return [*(LOAD_CORE if self.is_pinned else ()), *self.priority, *command]


@dataclass(frozen=True)
class Running:
    """A server that is ready."""

    address: str
    pid: int
    data: Path
    place: Place
    load_options: tuple[str, ...]

    def load(self, *options: str) -> dict[str, float]:
        """Runs the load, and returns its figures with the server's processor time."""
        command = self.place.load(str(BUILT / "load"), self.address, *options)
        command += [*self.load_options, "--pid", str(self.pid)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        figures: dict[str, float] = json.loads(done.stdout)
        return figures

    def log_bytes(self) -> int:
        """Returns the disk usage of the logs."""
        return sum(path.stat().st_size for path in self.data.rglob("*log") if path.is_file())


def broker(*settings: str, shards: int = 1, flushed: bool = False) -> Server:
    """Returns a broker built by `make build`."""
    options = [f"num.network.threads={shards}", *([] if flushed else ["write.caching=true"])]
    listed = [part for setting in (*options, *settings) for part in ("--set", setting)]
    command = (str(BROKER), "broker", "--listen", "127.0.0.1:0", "--data-dir", "{data}/broker")
    return Server((*command, "--log", "error", *listed), load_options=("--create",))


SERVERS = {
    "ruler": Server((str(BUILT / "ruler"), "{data}/log"), flushed=("--flush",)),
    "inline": Server((str(BUILT / "spike"), "{data}/log", "inline"), flushed=("--flush",)),
    "queued": Server((str(BUILT / "spike"), "{data}/log", "queued"), flushed=("--flush",)),
    "yielding": Server((str(BUILT / "spike"), "{data}/log", "yielding"), flushed=("--flush",)),
    # One shard, because the baseline has one thread.
    "streamlog": Server(
        broker(flushed=True).command,
        cached=("--set", "write.caching=true"),
        load_options=("--create",),
    ),
}


@contextmanager
def running(server: Server, place: Place, *, flushed: bool = False) -> Iterator[Running]:
    """Runs the server in a fresh directory during the block."""
    data = Path(tempfile.mkdtemp(dir=place.data))
    try:
        with serving(server, place, data, flushed=flushed) as started:
            yield started
    finally:
        shutil.rmtree(data)


def touch_memory() -> None:
    """Reclaims memory that a virtual machine has returned to its host.

    Otherwise the first access to a page would take much longer than the measured work.
    """
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
    mmap.mmap(-1, min(TOUCHED_BYTES, free // 2), flags=flags).close()


@contextmanager
def serving(
    server: Server, place: Place, data: Path, *, flushed: bool = False
) -> Iterator[Running]:
    """Runs the server in this directory, and stops it cleanly at the end of the block."""
    options = server.flushed if flushed else server.cached
    command = [part.replace("{data}", str(data)) for part in (*server.command, *options)]
    process = subprocess.Popen(place.server(*command), stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        ready = process.stdout.readline().split()
        assert ready[:1] == ["ready"], f"{command} said {ready}"
        yield Running(ready[1], process.pid, data, place, server.load_options)
    finally:
        process.terminate()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
