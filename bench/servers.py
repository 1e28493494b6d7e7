"""The servers that are compared: how each is started, loaded and looked at while it runs.

Every server starts anew for every measurement, in a fresh directory, on a core of its own; the load
has the other core.
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
BUILT = BENCH / "target" / "release"
BROKER = BENCH.parent / "target" / "release" / "streamlog"
SERVER_CORE, LOAD_CORE = ("taskset", "-c", "1"), ("taskset", "-c", "0")
REALTIME = ("chrt", "--fifo", "10")
TOUCHED_BYTES = 4 << 30


@dataclass(frozen=True)
class Server:
    """How to start a server; `{data}` is its directory. It prints `ready HOST:PORT`."""

    command: tuple[str, ...]
    flushed: tuple[str, ...] = ()
    cached: tuple[str, ...] = ()
    load_options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Place:
    """Where and how servers run: a directory on the disk to be measured, and a command before."""

    data: Path
    priority: tuple[str, ...] = ()


@dataclass(frozen=True)
class Running:
    """A server that has said that it is ready."""

    address: str
    pid: int
    data: Path
    place: Place
    load_options: tuple[str, ...]

    def load(self, *options: str) -> dict[str, float]:
        """What the load measured; the server's own time is counted with it."""
        command = [*LOAD_CORE, *self.place.priority, str(BUILT / "load"), self.address]
        command += [*options, *self.load_options, "--pid", str(self.pid)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        figures: dict[str, float] = json.loads(done.stdout)
        return figures

    def log_bytes(self) -> int:
        """What the logs take on the disk."""
        return sum(path.stat().st_size for path in self.data.rglob("*log") if path.is_file())


def broker(*settings: str, shards: int = 1, flushed: bool = False) -> Server:
    """A broker as `make build` makes it."""
    options = [f"num.network.threads={shards}", *([] if flushed else ["write.caching=true"])]
    listed = [part for setting in (*options, *settings) for part in ("--set", setting)]
    command = (str(BROKER), "broker", "--listen", "127.0.0.1:0", "--data-dir", "{data}/broker")
    return Server((*command, "--log", "error", *listed), load_options=("--create",))


SERVERS = {
    "ruler": Server((str(BUILT / "ruler"), "{data}/log"), flushed=("--flush",)),
    "inline": Server((str(BUILT / "spike"), "{data}/log", "inline"), flushed=("--flush",)),
    "queued": Server((str(BUILT / "spike"), "{data}/log", "queued"), flushed=("--flush",)),
    "yielding": Server((str(BUILT / "spike"), "{data}/log", "yielding"), flushed=("--flush",)),
    # With one shard, as the ruler has one thread.
    "streamlog": Server(
        broker(flushed=True).command,
        cached=("--set", "write.caching=true"),
        load_options=("--create",),
    ),
}


@contextmanager
def running(server: Server, place: Place, *, flushed: bool = False) -> Iterator[Running]:
    """The server in a fresh directory, until the block is left."""
    data = Path(tempfile.mkdtemp(dir=place.data))
    try:
        with serving(server, place, data, flushed=flushed) as started:
            yield started
    finally:
        shutil.rmtree(data)


def touch_memory() -> None:
    """Brings back what a virtual machine has handed over to its host of the free memory.

    Otherwise the first touch of a page costs a multiple of what is done with it.
    """
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
    mmap.mmap(-1, min(TOUCHED_BYTES, free // 2), flags=flags).close()


@contextmanager
def serving(
    server: Server, place: Place, data: Path, *, flushed: bool = False
) -> Iterator[Running]:
    """The server in this directory, stopped in order when the block is left."""
    options = server.flushed if flushed else server.cached
    command = [part.replace("{data}", str(data)) for part in (*server.command, *options)]
    process = subprocess.Popen(
        [*SERVER_CORE, *place.priority, *command], stdout=subprocess.PIPE, text=True
    )
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
