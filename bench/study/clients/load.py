"""`bench/load`: one thread that keeps encoded requests in flight; it costs next to nothing."""

from servers import BUILT

from study.clients.client import Consume, Latency, Outcome, Produce, Target, run
from study.peers.peer import Peer


class LoadClient:
    """The load that drives the ruler and every broker of Kafka's protocol."""

    def describe(self, peer: Peer) -> str:
        """Returns its name as shown in the tables."""
        return "bench/load"

    def produce(self, target: Target, work: Produce) -> Outcome:
        """Sends records; the warm-up by a process of its own before."""
        if work.warm_up:
            self._produce(target, work, work.warm_up)
        return self._produce(target, work, work.records)

    def _produce(self, target: Target, work: Produce, records: int) -> Outcome:
        words = ["produce", "--records", str(records), "--record-bytes", str(work.record_bytes)]
        words += ["--batch", str(work.batch), "--in-flight", str(work.in_flight), "--series"]
        words += ["--acks", str(work.acks), "--partitions", str(work.partitions)]
        return _run(target, words)

    def consume(self, target: Target, work: Consume) -> Outcome:
        """Reads records; the warm-up by a process of its own before."""
        words = ["fetch", "--max-bytes", str(work.prefetch_bytes)]
        if work.warm_up:
            _run(target, [*words, "--records", str(work.warm_up)])
        return _run(target, [*words, "--records", str(work.records)])

    def latency(self, target: Target, work: Latency) -> Outcome:
        """Times single records; the warm-up by a process of its own before."""
        words = ["latency", "--rate", str(work.rate), "--record-bytes", str(work.record_bytes)]
        if work.warm_up:
            _run(target, [*words, "--records", str(work.warm_up)])
        return _run(target, [*words, "--records", str(work.records)])


def _run(target: Target, words: list[str]) -> Outcome:
    # The ruler has one topic with a fixed name.
    topic = "bench" if target.peer.has_one_log else target.topic
    common = ["--topic", topic, "--seconds", str(target.seconds), *target.peer.load_options]
    pid = ["--pid", str(target.running.pids[0])]
    command = [str(BUILT / "load"), target.running.address, *words, *common, *pid]
    return run(command, target.seconds)
