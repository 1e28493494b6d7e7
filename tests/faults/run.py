"""One run: a cluster under load, faults, and the check of everything that clients have seen."""

import os
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

from faults.checker import anomalies, compacted, repetitions
from faults.checker.anomaly import Anomaly
from faults.checker.replicas import compacted_disagreements, disagreements, dumped, gaps
from faults.ground.broker import program
from faults.ground.cluster import CLIENTS, IDS, Cluster
from faults.ground.waiting import until
from faults.history.lines import Writer, read
from faults.load.final import read_all
from faults.load.plan import Plan
from faults.load.process import Load
from faults.stage import PARTITIONS, RECORDS, TOPIC, Fault, Stage
from faults.topics import TopicKind

QUIET_RECORDS = 2_000
RATE = int(os.environ.get("STREAMLOG_FAULTS_RATE", "4000"))
LOAD, EVENTS, FINAL = "load.jsonl", "events.jsonl", "final.jsonl"


@dataclass
class Result:
    """The counts and findings of a run."""

    seed: int
    client: str
    faults: list[str]
    topic: TopicKind = TopicKind.RECORD
    effects: list[str] = field(default_factory=list)
    seconds: float = 0.0
    acknowledged: int = 0
    shown: int = 0
    ends: int = 0
    repeated: int = 0
    compacted: int = 0
    """The acknowledged records that compaction has removed."""
    healed: float = 0.0
    """The longest time from the end of a fault until every replica was in sync."""
    anomalies: list[Anomaly] = field(default_factory=list)
    kept: Path | None = None
    """The place of everything, if there is an anomaly."""


def run(
    faults: Sequence[Fault],
    seed: int,
    client: str = "confluent",
    topic: TopicKind = TopicKind.RECORD,
) -> Result:
    """Runs faults one after another; keeps everything if one fails or an anomaly is found."""
    folder = Path(tempfile.mkdtemp(prefix=f"streamlog-faults-{seed}-"))
    result = Result(seed, client, [fault.name for fault in faults], topic)
    begin = time.monotonic()
    try:
        _happen(faults, result, folder)
        _check(result, folder)
    except BaseException as error:
        names = ",".join(result.faults)
        where = f"client {client}, topic {topic}; all kept in {folder}"
        error.add_note(f"seed {seed}, faults {names}, {where}")
        raise
    result.seconds = round(time.monotonic() - begin, 1)
    if result.anomalies:
        found = "\n".join(map(str, result.anomalies))
        (folder / "anomalies").write_text(f"{result}\n{found}\n")
        result.kept = folder
    else:
        shutil.rmtree(folder)
    return result


def _happen(faults: Sequence[Fault], result: Result, folder: Path) -> None:
    """The phases: quiet, faults, healed, final polls, stop, comparison of the replicas."""
    choice = random.Random(result.seed)
    volumes, tools = any(f.volumes for f in faults), any(f.tools for f in faults)
    with Cluster(folder, volumes=volumes, tools=tools) as cluster, ExitStack() as started:
        _make_topic(cluster, result.topic)
        plan = Plan(
            client=result.client,
            bootstrap=cluster.bootstrap,
            topic=TOPIC,
            partitions=PARTITIONS,
            history=folder / LOAD,
            seed=result.seed,
            rate=RATE,
            keyed=result.topic is TopicKind.COMPACTED,
        )
        load = Load(cluster.network, plan, folder / "load.log")
        started.callback(load.kill)
        events = Writer(folder / EVENTS)
        started.callback(events.close)
        stage = Stage(cluster, load, choice, events, result.topic)
        load.await_more(QUIET_RECORDS)
        if result.topic is TopicKind.COMPACTED:
            until("every broker compacts every log", lambda: _is_compacted(cluster))
        for fault in faults:
            stage.note(fault.name)
            result.effects.append(fault.happen(stage))
            stage.note(f"end of {fault.name}")
            result.healed = max(result.healed, cluster.await_healed(TOPIC))
            load.await_more(RECORDS)
        load.finish()
        ends = read_all(cluster, TOPIC, PARTITIONS, folder / FINAL)
        cluster.await_healed(TOPIC)
        result.anomalies += _compare(cluster, result.topic, ends)


def _make_topic(cluster: Cluster, kind: TopicKind) -> None:
    with cluster.network.inside(CLIENTS):
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    topic = NewTopic(TOPIC, PARTITIONS, len(IDS), config=kind.settings)
    admin.create_topics([topic])[TOPIC].result()
    cluster.await_healed(TOPIC)


def _is_compacted(cluster: Cluster) -> bool:
    """Returns whether each broker has compacted each log, as a file in its folder shows."""
    folders = [f"{TOPIC}-{partition}" for partition in range(PARTITIONS)]
    data = [broker.data for broker in cluster.brokers.values()]
    return all((path / folder / "compacted").exists() for path in data for folder in folders)


def _compare(cluster: Cluster, kind: TopicKind, ends: dict[int, int]) -> list[Anomaly]:
    """Stops the brokers, and compares their logs below the watermarks."""
    for broker in cluster.brokers.values():
        broker.stop()
    found: list[Anomaly] = []
    for partition, end in ends.items():
        folder = f"{TOPIC}-{partition}"
        logs = {n: dumped(program(), b.data / folder, kind) for n, b in cluster.brokers.items()}
        assert all(log.batches for log in logs.values()), f"partition {partition} has no log"
        for number, log in logs.items():
            batches = [batch for batch, _ in log.batches]
            where = f"partition {partition} of broker {number}"
            assert kind.is_shown_by(batches), f"{where} is not of the kind {kind}"
        if kind is TopicKind.COMPACTED:
            found += compacted_disagreements(partition, logs, end)
        else:
            found += gaps(partition, logs, end)
            found += disagreements(partition, logs, end)
    for broker in cluster.brokers.values():
        command = [program(), "log", "verify", str(broker.data)]
        subprocess.run(command, check=True, capture_output=True)
    return found


def _check(result: Result, folder: Path) -> None:
    history = read(folder / LOAD, folder / EVENTS, folder / FINAL)
    result.acknowledged, result.shown = history.acknowledged, history.shown
    result.ends, result.repeated = len(history.ends), repetitions(history)
    assert result.shown > 0, "nobody has read while the faults happened"
    assert result.ends > 0, "nobody has asked for the ends"
    if result.topic is TopicKind.COMPACTED:
        result.compacted = compacted(history)
        assert result.compacted > 0, "no record that was acknowledged has been compacted"
    result.anomalies += anomalies(history, result.topic)
