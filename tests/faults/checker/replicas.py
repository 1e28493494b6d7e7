"""The comparison of all replicas, byte by byte, below the high watermark."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faults.checker.anomaly import Anomaly, Kind


@dataclass(frozen=True)
class ReplicaLog:
    """The batches of one replica in order, as `log dump` shows them, and the bytes of each."""

    batches: list[tuple[dict[str, Any], bytes]]

    def below(self, watermark: int) -> list[tuple[int, bytes]]:
        """Base offset and bytes of each batch below an offset."""
        batches = ((int(fields["base_offset"]), raw) for fields, raw in self.batches)
        return [(offset, raw) for offset, raw in batches if offset < watermark]


def dumped(program: str, folder: Path) -> ReplicaLog:
    """The log in the folder of a partition, read by `log dump`."""
    batches: list[tuple[dict[str, Any], bytes]] = []
    for segment in sorted(folder.glob("*.log")):
        command = [program, "log", "dump", "-o", "json", str(segment)]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        content = segment.read_bytes()
        for line in lines.splitlines():
            fields = json.loads(line)
            start = fields["position"]
            batches.append((fields, content[start : start + fields["size"]]))
    return ReplicaLog(batches)


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
