"""Three brokers on a ZooKeeper, as ZooKeeper's nodes describe them."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from faults.ground.broker import Broker, program
from faults.ground.namespaces import Network
from faults.ground.server import ZooKeeper
from faults.ground.session import NoAnswer, Node, Session
from faults.ground.volumes import Volume
from faults.ground.waiting import until

IDS = (1, 2, 3)
CLIENTS = "cl"
ADDRESSES = {
    **{f"b{number}": f"10.77.0.{number}" for number in IDS},
    "zk": "10.77.0.9",
    CLIENTS: "10.77.0.20",
    # Where a second broker with the id of another one is started.
    "twin": "10.77.0.30",
}
TREE = "/streamlog"


@dataclass(frozen=True)
class State:
    """The leader and the in-sync set of a partition."""

    leader: int
    epoch: int
    members: tuple[int, ...]


class Cluster:
    """The processes, and the look at their state."""

    def __init__(self, folder: Path, *, volumes: bool = False, tools: bool = False) -> None:
        """Starts everything.

        With `volumes`, each broker has a file system of its own; with `tools`, its flushes can fail
        and its clock can jump.
        """
        self.folder = folder
        self.network = Network(ADDRESSES)
        self.volumes: dict[int, Volume] = {}
        self.zookeeper = ZooKeeper(self.network, folder)
        self.brokers = {number: Broker(self.network, folder, number) for number in IDS}
        try:
            for number, broker in self.brokers.items():
                if tools:
                    broker.add_tools()
                if volumes:
                    self.volumes[number] = Volume(folder / f"disk-{number}", broker.data)
            self.zookeeper.start()
            for broker in self.brokers.values():
                broker.start()
        except BaseException:
            self.close()
            raise

    @property
    def bootstrap(self) -> str:
        """The addresses of all brokers."""
        return ",".join(broker.address for broker in self.brokers.values())

    def node(self, path: str) -> Node | None:
        """A node of the cluster's tree."""
        with self._session() as session:
            return session.get(TREE + path)

    def registration(self, broker: int) -> Node | None:
        """The registration of a broker; none if it has no session."""
        return self.node(f"/brokers/ids/{broker}")

    def incarnation(self, broker: int) -> int:
        """The time of a broker's registration in ZooKeeper; 0 if it has none."""
        node = self.registration(broker)
        return 0 if node is None else node.created

    def controller(self) -> int:
        """The broker that is the controller; -1 if there is none."""
        node = self.node("/controller")
        return -1 if node is None else int(json.loads(node.value)["brokerid"])

    def states(self, topic: str) -> dict[int, State]:
        """The states of a topic's partitions; none while ZooKeeper is silent."""
        parent = f"{TREE}/brokers/topics/{topic}/partitions"
        try:
            with self._session() as session:
                numbers = session.children(parent)
                nodes = {int(n): session.get(f"{parent}/{n}/state") for n in numbers}
        except NoAnswer:
            return {}
        return {number: _state(node) for number, node in nodes.items() if node is not None}

    def leaders(self, topic: str) -> dict[int, int]:
        """The leaders of a topic's partitions."""
        return {number: state.leader for number, state in self.states(topic).items()}

    def problems(self) -> str:
        """The problems that `streamlog cluster check` lists."""
        return self.command("cluster", "check")

    def command(self, *words: str) -> str:
        """Runs `streamlog` with all brokers; returns its output, a row of JSON in each line."""
        command = self.network.command(CLIENTS, program(), *words, "-o", "json")
        known = {"STREAMLOG_BOOTSTRAP": self.bootstrap, "STREAMLOG_CONFIG": "/no/such/file"}
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, **known},
        )
        # 1 says that there are problems.
        assert done.returncode in (0, 1), f"{command}: {done.stderr}"
        return done.stdout

    def await_without(self, broker: int, topic: str) -> float:
        """Waits until a broker neither leads nor is in sync anywhere."""

        def is_out() -> bool:
            states = self.states(topic).values()
            return bool(states) and all(
                state.leader not in (broker, -1) and broker not in state.members for state in states
            )

        return until(f"broker {broker} is out of every in-sync set", is_out)

    def await_healed(self, topic: str) -> float:
        """Waits until every partition has a leader and its full in-sync set; returns how long."""
        return until(f"{topic} is in sync everywhere", lambda: self._is_healed(topic))

    def _is_healed(self, topic: str) -> bool:
        for broker in self.brokers.values():
            assert broker.is_running, f"broker {broker.number} has ended: see {broker.log_path}"
        states = self.states(topic).values()
        try:
            registered = all(self.registration(number) is not None for number in IDS)
        except NoAnswer:
            return False
        in_sync = all(s.leader in IDS and sorted(s.members) == list(IDS) for s in states)
        return bool(states) and registered and in_sync

    def _session(self) -> Session:
        return self.zookeeper.session()

    def close(self) -> None:
        """Ends all processes, and removes the network and the volumes."""
        for broker in self.brokers.values():
            broker.kill()
        self.zookeeper.kill()
        for volume in self.volumes.values():
            volume.close()
        self.network.close()

    def __enter__(self) -> Self:
        """The running cluster."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Ends it."""
        self.close()


def _state(node: Node) -> State:
    try:
        fields = json.loads(node.value)
        return State(int(fields["leader"]), int(fields["leader_epoch"]), tuple(fields["isr"]))
    except (ValueError, KeyError, TypeError):
        # Somebody has edited it.
        return State(-1, -1, ())
