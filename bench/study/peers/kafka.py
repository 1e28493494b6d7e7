"""Apache Kafka: one node that is broker and controller (KRaft)."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from study.errors import PeerError
from study.installing import KAFKA_JARS, java
from study.peers.peer import Mode, Peer, Running, Setting, promised
from study.processes import Command, free_ports, served

CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
HEAP = ("-Xms1g", "-Xmx1g", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20")
READY_SECONDS = 120


class Kafka(Peer):
    """Kafka with the options of its own start script, and its defaults."""

    name = "kafka"
    title = "Apache Kafka"
    is_required = True
    clients = ("load", "java")
    has_batches = True
    has_partitions = True
    promises = promised(cached="in the page cache", flushed="flushed, one by one")
    settings = (
        Setting("log.flush.interval.messages", "1", "flushed before it is acknowledged", "flushed"),
        Setting("num.network.threads", "3", "the default"),
        Setting("num.io.threads", "8", "the default"),
        Setting("offsets.topic.replication.factor", "1", "there is one broker"),
        Setting("transaction.state.log.replication.factor", "1", "there is one broker"),
        Setting("transaction.state.log.min.isr", "1", "there is one broker"),
        Setting("message.max.bytes", "8388608", "records of 1 MB fit"),
        Setting("group.initial.rebalance.delay.ms", "0", "one consumer waits for no others"),
    )
    load_options = ("--create",)
    java_kind = "kafka"

    def missing(self) -> str | None:
        """Returns that its jars are missing."""
        return None if list(KAFKA_JARS.glob("kafka_2*.jar")) else "its jars were not fetched"

    def version(self) -> str:
        """Returns the version in the name of its jar."""
        return next(KAFKA_JARS.glob("kafka-clients-*.jar")).stem.removeprefix("kafka-clients-")

    @contextmanager
    def running(self, mode: Mode, folder: Path) -> Iterator[Running]:
        """Formats its folder, and runs it during the block."""
        folder.mkdir(parents=True, exist_ok=True)
        port, controller = free_ports(2)
        properties = folder / "server.properties"
        properties.write_text(self._properties(mode, folder, port, controller))
        classes = [*java(), *HEAP, "-cp", f"{KAFKA_JARS}/*"]
        form = ("kafka.tools.StorageTool", "format", "--standalone", "-t", CLUSTER_ID, "-c")
        done = subprocess.run([*classes, *form, properties], capture_output=True, text=True)
        if done.returncode != 0:
            raise PeerError(f"its folder cannot be formatted:\n{done.stdout}{done.stderr}")
        words = [*classes, "kafka.Kafka", str(properties)]
        with served(Command(words, folder, {})) as server:
            started = "Kafka Server started"
            server.wait_until(lambda: started in server.log_path.read_text(), READY_SECONDS)
            yield Running(f"127.0.0.1:{port}", [server.process.pid], folder / "data")

    def _properties(self, mode: Mode, folder: Path, port: int, controller: int) -> str:
        address = f"127.0.0.1:{port}"
        rows = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "listeners": f"PLAINTEXT://{address},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://{address}",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller}",
            "log.dirs": str(folder / "data"),
            **self.rows(mode),
        }
        return "".join(f"{name}={value}\n" for name, value in rows.items())
