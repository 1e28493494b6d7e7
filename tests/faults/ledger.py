"""The ledger of all long runs, a line of JSON each, and the table that is made from it."""

import hashlib
import json
import os
import subprocess
import time
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

from faults.checker.anomaly import LOST, WITHDRAWN, Kind
from faults.families import FAULTS
from faults.run import Result
from faults.topics import TopicKind
from streamlog import _core

ROOT = Path(__file__).parents[2]
LEDGER = ROOT / "evidence" / "cluster-faults.jsonl"
PAGE = ROOT / "evidence" / "cluster-faults.md"
INTRODUCTION = """\
# Faults of three brokers in network namespaces

Each run starts a ZooKeeper and three brokers, each in a network namespace, and clients beside
them: eight producers with `acks=all`, of librdkafka, five of them idempotent, or of streamlog's
own client; two readers; and watchers that ask for the ends of the partitions. After the faults
everything is healed, and all replicas must be in sync within 60 s. New clients then read all
partitions twice, the brokers stop, and their logs are compared: byte by byte, or record by record
in a compacted topic, which each broker compacts by itself. The checker of `tests/faults/checker`
judges the history.

The 25 duplicates in the run of seed 2057 are those of one idempotent producer. While a
partition was handed over, a committed batch was answered with NOT_LEADER; a broker with a wrong
clock refused what came next, and the producer began another producer epoch and sent the batch
again, which no broker can recognize. Since commit a4953440 a former leader acknowledges what its
high watermark has covered (`tests/it/leader_epochs.rs`).

The five runs of 2026-12-02 that did not come to their check ended by the harness: the load of
streamlog's own client waited for one stopped partition before it wrote to others, and a check
counted segments that compaction had merged. The same seeds passed after both were mended.

The two of 2026-12-04 ended by a fault of the brokers: once the marker of the tree and the id of the
cluster were both missing, none of them created the nodes again. A broker does now, whose own
registration shows that the tree is its cluster's (`src/metadata/bootstrap_tests.rs`). Both seeds
passed then.

A run counts only if its faults took effect, which each asserts: a session ended, the in-sync set
shrank, a leader changed, packets were lost. `make test-faults` makes such runs;
`python -m faults --page` generates this page from `cluster-faults.jsonl`, a line for each run.
"""


@cache
def _origin() -> dict[str, str]:
    """The commit of the sources under test, and the build."""
    named = os.environ.get("STREAMLOG_COMMIT")
    git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    tree = subprocess.run(git, check=True, capture_output=True, text=True).stdout.strip()
    return {"commit": named or tree, "build": _build()}


def _build() -> str:
    """A digest of the program under test; of its native module, if it is the installed one."""
    program = Path(os.environ.get("STREAMLOG_PROGRAM", _core.__file__))
    return hashlib.sha256(program.read_bytes()).hexdigest()[:12]


def append(result: Result) -> None:
    """Appends a run with what it counted and found."""
    counts = {
        "seconds": result.seconds,
        "healed_seconds": round(result.healed, 1),
        "acknowledged": result.acknowledged,
        "shown": result.shown,
        "ends": result.ends,
        "repeated": result.repeated,
        "compacted": result.compacted,
        "anomalies": Counter(str(anomaly.kind) for anomaly in result.anomalies),
    }
    fields = {"effects": result.effects, **counts}
    _append(result.seed, result.client, result.topic, result.faults, fields)


def append_failure(
    seed: int, client: str, topic: TopicKind, faults: list[str], reason: str
) -> None:
    """Appends a run that did not come to its check, with the reason."""
    _append(seed, client, topic, faults, {"failed": reason})


def _append(
    seed: int, client: str, topic: TopicKind, faults: list[str], fields: dict[str, Any]
) -> None:
    day = time.strftime("%Y-%m-%d", time.gmtime())
    how = {"seed": seed, "client": client, "topic": topic, "faults": faults}
    row = {"day": day, **_origin(), **how, **fields}
    LEDGER.parent.mkdir(exist_ok=True)
    with LEDGER.open("a") as ledger:
        ledger.write(json.dumps(row) + "\n")


def write_page() -> None:
    """Writes the page of the ledger."""
    PAGE.write_text(page([json.loads(line) for line in LEDGER.read_text().splitlines()]))


def page(rows: list[dict[str, Any]]) -> str:
    """The page of these rows."""
    checked = [row for row in rows if "failed" not in row]
    return "\n".join(
        [
            INTRODUCTION,
            _summary(checked),
            "",
            *_by_fault(checked),
            "",
            *_by_topic(checked),
            "",
            *_by_build(checked),
            "",
            *_with_anomalies([row for row in checked if row["anomalies"]]),
            *_unfinished([row for row in rows if "failed" in row]),
        ]
    )


def _summary(checked: list[dict[str, Any]]) -> str:
    total = Counter[str]()
    found = Counter[str]()
    for row in checked:
        total.update({name: row[name] for name in ("acknowledged", "shown", "ends")})
        found.update(row["anomalies"])
    lost = sum(found[kind] for kind in LOST)
    withdrawn = sum(found[kind] for kind in WITHDRAWN)
    fallen = found[Kind.HW_REGRESSION]
    effective = sum(len(row["effects"]) for row in checked)
    return (
        f"{len(checked)} runs with {effective} effective faults: {total['acknowledged']:,} records "
        f"acknowledged, {total['shown']:,} shown\nto readers while the faults happened, "
        f"{total['ends']:,} ends told. Lost: {lost}. Withdrawn: {withdrawn}. Ends that fell: "
        f"{fallen}. Anomalies\nof all kinds: {found.total()}."
    )


def _with_anomalies(rows: list[dict[str, Any]]) -> list[str]:
    if not rows:
        return []
    lines = ["Runs in which something was wrong:", ""]
    for row in rows:
        found = ", ".join(f"{count} of kind {kind}" for kind, count in row["anomalies"].items())
        lines.append(f"- seed {row['seed']} ({', '.join(row['faults'])}): {found}")
    return [*lines, ""]


def _by_fault(checked: list[dict[str, Any]]) -> list[str]:
    times = Counter(name for row in checked for name in row["faults"])
    longest: dict[str, float] = {}
    for row in checked:
        for name in row["faults"]:
            longest[name] = max(longest.get(name, 0.0), row["healed_seconds"])
    lines = [
        "| fault | family | times | longest wait for all replicas, seconds |",
        "|---|--:|--:|--:|",
    ]
    for name, fault in FAULTS.items():
        lines.append(f"| {name} | {fault.family} | {times[name]} | {longest.get(name, '')} |")
    return lines


def _topic(row: dict[str, Any]) -> str:
    """The kind of the topic of a run; the first runs had no other one, and do not name it."""
    return str(row.get("topic", TopicKind.RECORD))


def _by_topic(checked: list[dict[str, Any]]) -> list[str]:
    lines = [
        "| topic | client | runs | acknowledged | removed by compaction |",
        "|---|---|--:|--:|--:|",
    ]
    runs = Counter[tuple[str, str]]()
    acknowledged = Counter[tuple[str, str]]()
    compacted = Counter[tuple[str, str]]()
    for row in checked:
        key = (_topic(row), row["client"])
        runs[key] += 1
        acknowledged[key] += row["acknowledged"]
        compacted[key] += row.get("compacted", 0)
    for key, count in sorted(runs.items()):
        lines.append(
            f"| {' | '.join(key)} | {count} | {acknowledged[key]:,} | {compacted[key]:,} |"
        )
    return lines


def _by_build(checked: list[dict[str, Any]]) -> list[str]:
    lines = ["| commit | build | client | runs | acknowledged |", "|---|---|---|--:|--:|"]
    runs = Counter[tuple[str, ...]]()
    acknowledged = Counter[tuple[str, ...]]()
    for row in checked:
        key: tuple[str, ...] = (row["commit"], row["build"], row["client"])
        runs[key] += 1
        acknowledged[key] += row["acknowledged"]
    for key, count in runs.items():
        lines.append(f"| {' | '.join(key)} | {count} | {acknowledged[key]:,} |")
    return lines


def _unfinished(failed: list[dict[str, Any]]) -> list[str]:
    lines = [f"Runs that did not come to their check: {len(failed)}.", ""]
    for row in failed:
        what = f"{', '.join(row['faults'])}, topic {_topic(row)}"
        where = f"{row['commit']}, seed {row['seed']}, {what}"
        lines.append(f"- {where}: {row['failed']}")
    return lines
