"""Processes of the peers: their start and end, and what the kernel counts of them."""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from study.errors import PeerError, RoomError

STOP_SECONDS = 30.0
POLL_SECONDS = 0.005
LOG_CHARACTERS = 1500
GIB = 1 << 30


@dataclass(frozen=True)
class Command:
    """The command line of a server, and where it runs."""

    words: Sequence[str]
    folder: Path
    """Its output goes to a file here."""
    environment: Mapping[str, str]


@dataclass(frozen=True)
class Server:
    """A running process, which leads a group of its own."""

    process: subprocess.Popen[bytes]
    log_path: Path

    def log(self) -> str:
        """The end of its output."""
        return self.log_path.read_text(errors="replace")[-LOG_CHARACTERS:]

    def wait_until(self, is_ready: Callable[[], bool], seconds: float) -> None:
        """Waits for a condition; fails if the process ends before, or the time is over."""
        deadline = time.monotonic() + seconds
        while not is_ready():
            if self.process.poll() is not None:
                raise PeerError(f"ended with {self.process.returncode} at its start:\n{self.log()}")
            if time.monotonic() > deadline:
                raise PeerError(f"is not ready after {seconds:g} s:\n{self.log()}")
            time.sleep(POLL_SECONDS)


@contextmanager
def served(command: Command) -> Iterator[Server]:
    """Runs a server during the block, and ends it and all that it started.

    It is in a session of its own, so that Ctrl-C reaches only the study, which then ends the
    block. If the study itself is killed, the kernel ends the server.
    """
    command.folder.mkdir(parents=True, exist_ok=True)
    log_path = command.folder / "server.log"
    guard = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
    with log_path.open("ab") as log:
        process = subprocess.Popen(
            [*guard, *command.words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, **command.environment},
            cwd=command.folder,
            start_new_session=True,
        )
    try:
        yield Server(process, log_path)
    finally:
        stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and its group: gently, and by force if it does not follow."""
    members = family(process.pid)
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    # A killed process ends a moment later, and may hold its files until then.
    deadline = time.monotonic() + STOP_SECONDS
    while any(is_running(pid) for pid in members) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)


def is_running(pid: int) -> bool:
    """Returns false if the process is gone, or a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def free_ports(count: int) -> list[int]:
    """Ports that are free now; they are held together, so that they differ."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports: list[int] = [listening.getsockname()[1] for listening in sockets]
    for listening in sockets:
        listening.close()
    return ports


def is_listening(port: int) -> bool:
    """Returns true if a server accepts connections on this port of the loopback interface."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def check_room(folder: Path, needed: int) -> None:
    """Fails if the disk has less room than this."""
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise RoomError(
            f"{folder} has {free / GIB:.1f} GiB free, and this study needs {needed / GIB:.1f}: "
            "make room, or choose another disk by DATA=FOLDER"
        )


def family(pid: int) -> list[int]:
    """The process and its descendants."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found = [pid]
    for member in found:
        found.extend(children.get(member, ()))
    return found


def status(path: Path, key: str) -> int:
    """Returns a number of a file of lines `key: number`."""
    for line in path.read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1])
    raise KeyError(key)


def resident_bytes(pids: Sequence[int]) -> int:
    """The resident memory of the processes."""
    return sum(status(Path(f"/proc/{pid}/status"), "VmRSS") for pid in pids) * 1024


def written_bytes(pids: Sequence[int]) -> int:
    """The bytes that the processes have caused to be written to the disk."""
    return sum(status(Path(f"/proc/{pid}/io"), "write_bytes") for pid in pids)


def wake_ups(pids: Sequence[int]) -> int:
    """The number of times that threads of the processes went to sleep by themselves."""
    tasks = (task for pid in pids for task in Path(f"/proc/{pid}/task").iterdir())
    return sum(status(task / "status", "voluntary_ctxt_switches") for task in tasks)


def disk_bytes(folder: Path) -> int:
    """The bytes that the files of a folder take on the disk."""
    total = 0
    for path in folder.rglob("*"):
        try:
            if path.is_file():
                total += path.stat().st_blocks * 512
        except FileNotFoundError:
            continue
    return total
