"""Three brokers on a ZooKeeper of their own, of which one may be killed."""

import socket
import subprocess
import time
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self

import streamlog
from cluster.zookeeper import answers, command_line, write_config
from py.support.broker import BrokerProcess

IDS = (1, 2, 3)
# The broker whose address clients are given; it is never killed.
CONTACT = IDS[0]
START_SECONDS = 30.0
SETTLE_SECONDS = 60.0
SETTINGS = (
    "zookeeper.session.timeout.ms=3000",
    "group.initial.rebalance.delay.ms=0",
    "offsets.topic.num.partitions=1",
)
_numbers = count()


class ZooKeeperProcess:
    """A server on a free port of the loopback interface, from the jars of PySpark."""

    def __init__(self, folder: Path) -> None:
        """Starts it and waits until it answers."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        config = folder / "zookeeper.cfg"
        write_config(config, folder / "zookeeper", self.port)
        self.log_path = folder / "zookeeper.log"
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(command_line(config), stdout=log, stderr=log)
        deadline = time.monotonic() + START_SECONDS
        while not answers(self.port):
            assert time.monotonic() < deadline, self.log_path.read_text(errors="replace")
            time.sleep(0.05)

    def kill(self) -> None:
        """Ends it."""
        self.process.kill()
        self.process.wait()


class Cluster:
    """Three broker processes."""

    def __init__(self, folder: Path) -> None:
        """Starts ZooKeeper and the brokers."""
        with ExitStack() as started:
            self.zookeeper = ZooKeeperProcess(folder)
            started.callback(self.zookeeper.kill)
            tree = f"127.0.0.1:{self.zookeeper.port}/interop"
            self.brokers = {number: _broker(folder, number, tree) for number in IDS}
            started.callback(self._kill_brokers)
            for broker in self.brokers.values():
                broker.start()
            self.observer = streamlog.connect(self.address)
            started.callback(self.observer.close)
            self._started = started.pop_all()

    def _kill_brokers(self) -> None:
        for broker in self.brokers.values():
            if broker.process is not None:
                broker.kill()

    @property
    def address(self) -> str:
        """The address that clients are given."""
        return self.brokers[CONTACT].address

    def topic(self) -> str:
        """A new topic of one partition, led by a broker that may be killed."""
        while True:
            name = f"failover-{next(_numbers)}"
            self.observer.admin.create_topic(name, partitions=1, replicas=len(IDS))
            if self.leader(name) != CONTACT:
                return name

    def leader(self, topic: str) -> int | None:
        """The leader of a topic's only partition."""
        return self.observer.admin.topic(topic).partitions[0].leader

    def kill(self, number: int) -> None:
        """Kills a broker."""
        self.brokers[number].kill()

    def restart(self, number: int, topic: str) -> None:
        """Starts a killed broker, and waits until it leads the topic again."""
        self.brokers[number].start()
        deadline = time.monotonic() + SETTLE_SECONDS
        while self.leader(topic) != number:
            assert time.monotonic() < deadline, f"broker {number} does not return: {self.logs()}"
            time.sleep(0.05)

    def await_other_leader(self, topic: str, than: int) -> None:
        """Waits until another broker leads the topic."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while self.leader(topic) in (than, None):
            assert time.monotonic() < deadline, f"{than} is not replaced: {self.logs()}"
            time.sleep(0.05)

    def logs(self) -> str:
        """The logs of all brokers."""
        return "".join(f"\nbroker {n}:\n{b.log()}" for n, b in self.brokers.items())

    def __enter__(self) -> Self:
        """The running cluster."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Ends all processes."""
        self._started.close()


def _broker(folder: Path, number: int, tree: str) -> BrokerProcess:
    """A broker that is not started yet."""
    settings = [word for setting in SETTINGS for word in ("--set", setting)]
    options = ["--zookeeper", tree, "--broker-id", str(number), *settings]
    return BrokerProcess(folder / f"broker-{number}", *options)
