"""The load in `java/`, which uses the client that each peer's project offers for Java."""

from study.clients.client import Consume, Latency, Outcome, Produce, Target, run
from study.installing import java, java_classes
from study.peers.peer import Peer

OPTIONS = ("-Xms512m", "-Xmx512m", "-XX:+UseSerialGC", "--enable-native-access=ALL-UNNAMED")
"""Of two cores a concurrent collector would take one from the broker."""

DESCRIPTIONS = {
    "kafka": "Kafka's Java client",
    "rabbitmq-stream": "its stream client",
    "redis": "pipelined RESP",
}


class JavaClient:
    """A process of Java for each measurement, warmed up before it measures."""

    def describe(self, peer: Peer) -> str:
        """Returns its name as shown in the tables."""
        return DESCRIPTIONS.get(peer.java_kind, "its Java client")

    def produce(self, target: Target, work: Produce) -> Outcome:
        """Sends records."""
        words = ["produce", "--batch", str(work.batch), "--in-flight", str(work.in_flight)]
        words += ["--acks", str(work.acks), "--partitions", str(work.partitions)]
        return _run(target, work, words)

    def consume(self, target: Target, work: Consume) -> Outcome:
        """Reads records, the first ones as a warm-up."""
        words = ["consume", "--prefetch-bytes", str(work.prefetch_bytes)]
        return _run(target, work, [*words, "--prefetch-records", str(work.prefetch_records)])

    def latency(self, target: Target, work: Latency) -> Outcome:
        """Times single records."""
        return _run(target, work, ["latency", "--rate", str(work.rate)])


def _run(target: Target, work: Produce | Consume | Latency, words: list[str]) -> Outcome:
    command = [*java(), *OPTIONS, "-cp", java_classes(), "study.Load", target.peer.java_kind]
    command += [*words, "--address", target.running.address, "--topic", target.topic]
    command += ["--records", str(work.records), "--record-bytes", str(work.record_bytes)]
    command += ["--warm-up", str(work.warm_up), "--seconds", str(target.seconds)]
    for pid in target.running.pids:
        command += ["--pid", str(pid)]
    return run(command, target.seconds)
