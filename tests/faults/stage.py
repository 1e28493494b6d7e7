"""The stage of a run: the cluster, its load, and the choices of a seed."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from faults.ground.broker import Broker, Tools
from faults.ground.cluster import IDS, Cluster
from faults.history.lines import Writer
from faults.history.operations import Event
from faults.load.process import Load
from faults.topics import TopicKind

TOPIC = "faults"
PARTITIONS = 3
SESSION_SECONDS = 3.0
RECORDS = 500
"""The records that are acknowledged while a fault lasts, if the cluster is to go on."""


@dataclass
class Stage:
    """The things that a fault acts upon."""

    cluster: Cluster
    load: Load
    random: random.Random
    events: Writer
    topic: TopicKind = TopicKind.RECORD

    def note(self, name: str) -> None:
        """Notes an event in the history."""
        self.events.write(Event(time.monotonic_ns(), name))

    def broker(self, number: int) -> Broker:
        """A broker by its number."""
        return self.cluster.brokers[number]

    def tools(self, number: int) -> Tools:
        """The tools of a broker, in a cluster that has them."""
        tools = self.broker(number).tools
        assert tools is not None
        return tools

    def leader(self) -> int:
        """The leader of some partition."""
        leaders = self.cluster.leaders(TOPIC)
        return leaders[self.random.randrange(PARTITIONS)]

    def anyone(self) -> int:
        """Some broker; it leads one partition and follows in the others."""
        return self.random.choice(IDS)

    def await_without(self, broker: int) -> str:
        """Waits until a broker is out of every in-sync set, and the others go on."""
        seconds = self.cluster.await_without(broker, TOPIC)
        self.load.await_more(RECORDS)
        return f"broker {broker} out of sync after {seconds:.1f} s"


@dataclass(frozen=True)
class Fault:
    """A fault: it happens, is seen to take effect, and ends; returns what its effect was."""

    name: str
    family: int
    """The number of the family in the list of faults in the package's documentation."""
    happen: Callable[[Stage], str]
    volumes: bool = False
    """True if each broker needs a file system of its own."""
    tools: bool = False
    """True if flushes fail or clocks jump."""


def others(number: int) -> list[int]:
    """The numbers of the other brokers."""
    return [other for other in IDS if other != number]
