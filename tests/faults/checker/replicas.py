"""The comparison of all replicas below the high watermark.

Followers store the bytes of their leader, so that replicas are compared byte by byte. A compacted
topic is an exception: each broker compacts its own log, when and as far as it has closed segments,
so that the same records lie in other batches and segments, and an older record of a key may be
on one broker only. There the records are compared: one at the same offset must be the same on
every broker, and the last record of each key must be on all of them.
"""

import json
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faults.checker.anomaly import Anomaly, Kind
from faults.topics import TopicKind

Content = tuple[Any, ...]
"""The key of a record, and everything else that compaction must leave as it is."""


@dataclass(frozen=True)
class ReplicaLog:
    """The batches of one replica in order, as `log dump` shows them, and the bytes of each."""

    batches: list[tuple[dict[str, Any], bytes]]

    def below(self, watermark: int) -> list[tuple[int, bytes]]:
        """Base offset and bytes of each batch below an offset."""
        batches = ((int(fields["base_offset"]), raw) for fields, raw in self.batches)
        return [(offset, raw) for offset, raw in batches if offset < watermark]

    def records_below(self, watermark: int) -> dict[int, Content]:
        """The records below an offset, by their offsets; the key is first in each."""
        return {
            record["offset"]: _content(batch, record)
            for batch, _ in self.batches
            for record in batch["records"]
            if record["offset"] < watermark
        }


def _content(batch: Mapping[str, Any], record: Mapping[str, Any]) -> Content:
    sequence = batch["base_sequence"]
    if sequence is not None:
        sequence += record["offset"] - batch["base_offset"]
    producer = (batch["producer_id"], batch["producer_epoch"], sequence)
    own = (record["key"], record["value"], record["timestamp"], record["headers"])
    return (*own, batch["timestamp_type"], batch["leader_epoch"], *producer)


def dumped(program: str, folder: Path, topic: TopicKind = TopicKind.RECORD) -> ReplicaLog:
    """The log in the folder of a partition, read by `log dump`; with records if it is compacted."""
    more = ["--records"] if topic is TopicKind.COMPACTED else []
    batches: list[tuple[dict[str, Any], bytes]] = []
    for segment in sorted(folder.glob("*.log")):
        command = [program, "log", "dump", "-o", "json", *more, str(segment)]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        content = segment.read_bytes()
        for line in lines.splitlines():
            fields = json.loads(line)
            start = fields["position"]
            batches.append((fields, content[start : start + fields["size"]]))
    return ReplicaLog(batches)


def gaps(partition: int, replicas: Mapping[int, ReplicaLog], watermark: int) -> Iterator[Anomaly]:
    """Offsets below a watermark that no batch of a replica covers; not for compacted topics."""
    for broker, log in replicas.items():
        end = 0
        for batch, _ in log.batches:
            if batch["base_offset"] != end:
                break
            end = batch["last_offset"] + 1
        if end < watermark:
            detail = f"broker {broker} has nothing at offset {end}"
            yield Anomaly(Kind.GAP, partition, detail)


def disagreements(
    partition: int, replicas: Mapping[int, ReplicaLog], watermark: int
) -> Iterator[Anomaly]:
    """The first batch in which each replica differs from the first one, or ends too early."""
    first, *others = replicas
    expected = replicas[first].below(watermark)
    for broker in others:
        found = replicas[broker].below(watermark)
        if found == expected:
            continue
        pairs = zip(expected, found, strict=False)
        at = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(expected), len(found)))
        longer = expected if at < len(expected) else found
        detail = f"brokers {first} and {broker} differ from offset {longer[at][0]} on"
        yield Anomaly(Kind.REPLICA_DISAGREEMENT, partition, detail)


def compacted_disagreements(
    partition: int, replicas: Mapping[int, ReplicaLog], watermark: int
) -> Iterator[Anomaly]:
    """The first record in which each compacted replica differs from the first one."""
    first, *others = replicas
    expected = replicas[first].records_below(watermark)
    for broker in others:
        found = replicas[broker].records_below(watermark)
        both = expected.keys() & found.keys()
        changed = {offset for offset in both if expected[offset] != found[offset]}
        last, found_last = _last_offsets(expected), _last_offsets(found)
        keys = last.keys() | found_last.keys()
        ends = [(last.get(key), found_last.get(key)) for key in keys]
        for pair in ends:
            if pair[0] != pair[1]:
                changed.add(max(offset for offset in pair if offset is not None))
        if changed:
            detail = f"brokers {first} and {broker} differ in the record at offset {min(changed)}"
            yield Anomaly(Kind.REPLICA_DISAGREEMENT, partition, detail)


def _last_offsets(records: Mapping[int, Content]) -> dict[str, int]:
    """The offset of the last record of each key."""
    return {records[offset][0]: offset for offset in sorted(records)}
