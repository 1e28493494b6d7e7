"""Network namespaces joined by one bridge, which no other process of the machine can reach.

The bridge lives in a namespace of its own too: nothing is added to the machine's own network. The
names carry the id of this process, so that a later run removes what a killed one left behind.
"""

import ctypes
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self

FOLDER = Path("/run/netns")
CLONE_NEWNET = 0x40000000
_NAME = re.compile(r"slog-(\d+)-\d+-\w+")
_numbers = count()
_libc = ctypes.CDLL(None, use_errno=True)


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr}"


class Network:
    """Nodes with an address each; their links can be cut, also in one direction."""

    def __init__(self, addresses: dict[str, str]) -> None:
        """Makes a namespace for each node."""
        remove_abandoned()
        self.addresses = addresses
        self._prefix = f"slog-{os.getpid()}-{next(_numbers)}"
        self._made: list[str] = []
        try:
            self._add("hub")
            _ip("-n", self.name("hub"), "link", "add", "br0", "type", "bridge")
            _ip("-n", self.name("hub"), "link", "set", "br0", "up")
            for node, address in addresses.items():
                self._join(node, address)
        except BaseException:
            self.close()
            raise

    def name(self, node: str) -> str:
        """The name of a node's namespace."""
        return f"{self._prefix}-{node}"

    def command(self, node: str, *command: str) -> list[str]:
        """A command that runs in a namespace, and dies with the thread that has started it."""
        # Unlike `ip netns exec`, nsenter keeps the mounts: volumes can be unmounted meanwhile.
        enter = ["nsenter", f"--net={FOLDER / self.name(node)}"]
        return [*enter, "setpriv", "--pdeathsig", "KILL", *command]

    @contextmanager
    def inside(self, node: str) -> Iterator[None]:
        """Moves this thread into a namespace; sockets and threads made there stay there."""
        with Path("/proc/thread-self/ns/net").open() as own:
            _enter(FOLDER / self.name(node))
            try:
                yield
            finally:
                assert _libc.setns(own.fileno(), CLONE_NEWNET) == 0

    def cut(self, node: str) -> None:
        """Cuts a node off from all others, silently."""
        self._port(node, "down")

    def join(self, node: str) -> None:
        """Ends the cut of a node."""
        self._port(node, "up")

    def part(self, *nodes: str) -> None:
        """Cuts nodes off from each other; each still reaches all the rest."""
        self._isolate(nodes, "on")

    def unpart(self, *nodes: str) -> None:
        """Ends the partition of nodes."""
        self._isolate(nodes, "off")

    def drop(self, at: str, *sources: str) -> None:
        """Loses what these nodes send to a node, but not what it sends."""
        rules = ["add table inet faults"]
        chain = "{ type filter hook input priority 0; }"
        rules.append(f"add chain inet faults arriving {chain}")
        for source in sources:
            saddr = f"ip saddr {self.addresses[source]}"
            rules.append(f"add rule inet faults arriving {saddr} counter drop")
        self._nft(at, "\n".join(rules))

    def undrop(self, at: str) -> None:
        """Ends the loss at a node."""
        self._nft(at, "delete table inet faults")

    def rules(self, at: str) -> int:
        """The number of rules by which a node loses packets."""
        return self._listing(at).count(" drop")

    def dropped(self, at: str) -> int:
        """The number of packets that a node has lost by its rules."""
        return sum(int(count) for count in re.findall(r"packets (\d+)", self._listing(at)))

    def _listing(self, at: str) -> str:
        return self._nft(at, "list table inet faults")

    def close(self) -> None:
        """Removes all namespaces, with everything in them."""
        for name in reversed(self._made):
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
        self._made = []

    def _add(self, node: str) -> None:
        _ip("netns", "add", self.name(node))
        self._made.append(self.name(node))
        _ip("-n", self.name(node), "link", "set", "lo", "up")

    def _join(self, node: str, address: str) -> None:
        self._add(node)
        hub, own = self.name("hub"), self.name(node)
        peer = ["type", "veth", "peer", "name", "eth0", "netns", own]
        _ip("-n", hub, "link", "add", f"to-{node}", *peer)
        _ip("-n", hub, "link", "set", f"to-{node}", "master", "br0", "up")
        _ip("-n", own, "addr", "add", f"{address}/24", "dev", "eth0")
        _ip("-n", own, "link", "set", "eth0", "up")

    def _port(self, node: str, state: str) -> None:
        _ip("-n", self.name("hub"), "link", "set", f"to-{node}", state)

    def _isolate(self, nodes: tuple[str, ...], state: str) -> None:
        for node in nodes:
            command = ["bridge", "-n", self.name("hub"), "link", "set", "dev", f"to-{node}"]
            subprocess.run([*command, "isolated", state], check=True, capture_output=True)

    def _nft(self, node: str, rules: str) -> str:
        command = ["nsenter", f"--net={FOLDER / self.name(node)}", "nft", "-f", "-"]
        done = subprocess.run(command, input=rules, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"nft: {done.stderr}"
        return done.stdout

    def __enter__(self) -> Self:
        """The network."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Removes it."""
        self.close()


def _enter(namespace: Path) -> None:
    with namespace.open() as file:
        result = _libc.setns(file.fileno(), CLONE_NEWNET)
    assert result == 0, f"setns: {os.strerror(ctypes.get_errno())}"


def remove_abandoned() -> None:
    """Removes the namespaces of runs whose process has ended."""
    names = [path.name for path in FOLDER.glob("slog-*")] if FOLDER.exists() else []
    for name in names:
        found = _NAME.fullmatch(name)
        if found and not Path(f"/proc/{found[1]}").exists():
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
