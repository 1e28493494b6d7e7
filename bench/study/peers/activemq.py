"""ActiveMQ Classic with its journal, KahaDB."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from study.installing import STUDY_JARS, java, java_classes
from study.peers.peer import Mode, Peer, Running, Setting, promised
from study.processes import Command, free_ports, served

HEAP = ("-Xms1g", "-Xmx1g", "-XX:+UseG1GC")
READY_SECONDS = 60


class ActiveMq(Peer):
    """A broker with the settings that `study.server.ActiveMqServer` gives it."""

    name = "activemq"
    title = "ActiveMQ"
    is_required = True
    promises = promised(cached="in the page cache", flushed="flushed, by group")
    settings = (
        Setting("journalDiskSyncStrategy", "PERIODIC", "flushed every second", "cached"),
        Setting("journalDiskSyncStrategy", "ALWAYS", "flushed before it answers", "flushed"),
        Setting(
            "concurrentStoreAndDispatchQueues",
            "false",
            "every record reaches the journal, as with all peers",
        ),
        Setting("producerFlowControl", "false", "the pace is the store's, as its pages advise"),
        Setting("maxPageSize", "10000", "more than the client's prefetch, so that no page waits"),
        Setting("optimizeAcknowledge", "true", "of the client: it acknowledges several at once"),
        Setting("useJmx, advisorySupport", "false", "no work beside the records"),
    )
    java_kind = "activemq"

    def missing(self) -> str | None:
        """Returns that its jars are missing."""
        found = list(STUDY_JARS.glob("activemq-broker-*.jar"))
        return None if found else "its jars were not fetched"

    def version(self) -> str:
        """Returns the version in the name of its jar."""
        return next(STUDY_JARS.glob("activemq-broker-*.jar")).stem.removeprefix("activemq-broker-")

    @contextmanager
    def running(self, mode: Mode, folder: Path) -> Iterator[Running]:
        """Runs it during the block."""
        address = f"127.0.0.1:{free_ports(1)[0]}"
        strategy = self.rows(mode)["journalDiskSyncStrategy"]
        data = folder / "data"
        words = [*java(), *HEAP, "-cp", java_classes(), "study.server.ActiveMqServer"]
        command = Command([*words, address, str(data), strategy], folder, {})
        with served(command) as server:
            server.wait_until(lambda: f"ready {address}" in server.log(), READY_SECONDS)
            yield Running(address, [server.process.pid], data)
