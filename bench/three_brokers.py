"""Three brokers and their ZooKeeper on this machine, with a count of each broker's syncs.

They share all cores, since there are more of them than of the servers that are measured alone.
Brokers are killed, stopped and started again during a measurement; their data stays.
"""

import json
import os
import signal
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from servers import BENCH, BROKER, BUILT, Place

import streamlog
from cluster.zookeeper import answers, any_port, command_line, write_config

IDS = (1, 2, 3)
PATIENCE_SECONDS = 120.0
_COUNT = struct.Struct("=Q")
_PRELOADED = BENCH / "preload" / "syncs.c"


@dataclass(frozen=True)
class Usage:
    """The usage of the brokers since their start."""

    cpu_seconds: dict[int, float]
    syncs: dict[int, int]


class Member:
    """One broker, which keeps its port and its data from one process to the next."""

    def __init__(self, number: int, folder: Path, tree: str, place: Place) -> None:
        """Describes a broker that does not run."""
        self.number = number
        self.address = "127.0.0.1:0"
        self.process: subprocess.Popen[str] | None = None
        self._data = folder / f"broker-{number}"
        self._syncs = folder / f"syncs-{number}"
        self._syncs.write_bytes(bytes(_COUNT.size))
        variables = [f"LD_PRELOAD={folder / 'syncs.so'}", f"STREAMLOG_SYNCS={self._syncs}"]
        self._command = [*place.priority, "env", *variables, str(BROKER), "broker"]
        self._command += ["--zookeeper", tree, "--broker-id", str(number), "--log", "error"]

    def start(self) -> None:
        """Starts it and waits until it is ready."""
        command = [*self._command, "--listen", self.address, "--data-dir", str(self._data)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.process = process
        assert process.stdout is not None
        ready = process.stdout.readline().split()
        assert ready[:1] == ["ready"], f"{command} said {ready}"
        self.address = ready[1]

    @property
    def pid(self) -> int:
        """The id of the running process."""
        assert self.process is not None, f"broker {self.number} does not run"
        return self.process.pid

    def end(self, how: signal.Signals) -> None:
        """Sends a signal that ends it, if it runs, and waits for its end."""
        process, self.process = self.process, None
        if process is not None:
            process.send_signal(how)
            process.wait()
            if process.stdout is not None:
                process.stdout.close()

    def cpu_seconds(self) -> float:
        """The processor time of the running process, of ended threads too."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_kib(self) -> int:
        """The resident memory of the running process in KiB."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))

    def syncs(self) -> int:
        """The syncs of all its processes."""
        count: int = _COUNT.unpack(self._syncs.read_bytes())[0]
        return count


class ThreeBrokers:
    """The running brokers, and a client of them."""

    def __init__(self, members: dict[int, Member], place: Place, client: streamlog.Client) -> None:
        """Takes brokers that have started."""
        self.members = members
        self.client = client
        self._place = place

    def topic(self, name: str, *, partitions: int = 1, replicas: int = len(IDS)) -> None:
        """Creates a topic, and waits until all replicas are in sync."""
        self.client.admin.create_topic(name, partitions=partitions, replicas=replicas)
        self.await_in_sync(name)

    def leader(self, topic: str) -> int:
        """The leader of a topic's first partition."""
        leader = self.client.admin.topic(topic).partitions[0].leader
        assert leader is not None
        return leader

    def await_in_sync(self, topic: str) -> None:
        """Waits until every replica is in sync, and the first one leads."""

        def is_whole() -> bool:
            known = self.client.admin.topic(topic).partitions
            return all(p.leader == p.replicas[0] and len(p.isr) == len(p.replicas) for p in known)

        until(is_whole, f"the replicas of {topic} are not in sync")

    def usage(self) -> Usage:
        """The processor time and syncs of all brokers."""
        return Usage(
            {number: member.cpu_seconds() for number, member in self.members.items()},
            {number: member.syncs() for number, member in self.members.items()},
        )

    def load(self, topic: str, *options: str) -> dict[str, float]:
        """Runs the load on a topic's leader, with `acks=all`, and returns its figures."""
        address = self.members[self.leader(topic)].address
        command = self._place.load(str(BUILT / "load"), address, *options)
        command += ["--topic", topic, "--acks", "-1"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        figures: dict[str, float] = json.loads(done.stdout)
        return figures


def until(is_so: Callable[[], bool], failure: str) -> float:
    """Waits until a condition holds, and returns the seconds that it took."""
    began = time.perf_counter()
    while not is_so():
        assert time.perf_counter() - began < PATIENCE_SECONDS, failure
        time.sleep(0.01)
    return time.perf_counter() - began


@contextmanager
def three_brokers(place: Place) -> Iterator[ThreeBrokers]:
    """Runs ZooKeeper and three brokers in a fresh directory during the block."""
    with ExitStack() as started:
        folder = Path(started.enter_context(tempfile.TemporaryDirectory(dir=place.data)))
        command = ["cc", "-shared", "-fPIC", "-O2", "-std=gnu11", "-Wall", "-Werror"]
        command += ["-o", str(folder / "syncs.so"), str(_PRELOADED), "-ldl"]
        subprocess.run(command, check=True)
        tree = f"127.0.0.1:{_zookeeper(folder, started)}/bench"
        members = {number: Member(number, folder, tree, place) for number in IDS}
        for member in members.values():
            started.callback(member.end, signal.SIGKILL)
            member.start()
        addresses = [member.address for member in members.values()]
        client = started.enter_context(streamlog.connect(addresses))
        until(lambda: len(client.admin.cluster().brokers) == len(IDS), "a broker is missing")
        yield ThreeBrokers(members, place, client)


def _zookeeper(folder: Path, started: ExitStack) -> int:
    """Starts a ZooKeeper, and returns its port."""
    config, port = folder / "zookeeper.cfg", any_port()
    write_config(config, folder / "zookeeper", port)
    log = started.enter_context((folder / "zookeeper.log").open("wb"))
    process = subprocess.Popen(command_line(config), stdout=log, stderr=log)
    started.callback(process.wait)
    started.callback(process.kill)
    until(lambda: answers(port), "ZooKeeper does not start")
    return port
