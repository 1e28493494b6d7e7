"""Comparison of the consumer's output with the input, partition by partition."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from source import Input

Row = tuple[str, int, bytes]


@dataclass
class Digest:
    """A compact digest of a sequence of records."""

    records: int = 0
    size: int = 0
    sha256: Any = field(default_factory=hashlib.sha256)

    def add(self, row: Row) -> None:
        """Adds a record: its file, line number and line all count."""
        name, number, line = row
        self.records += 1
        self.size += len(line)
        self.sha256.update(f"{name}\t{number}\t".encode() + line + b"\n")

    def result(self) -> tuple[int, int, str]:
        """The value for comparisons."""
        return self.records, self.size, self.sha256.hexdigest()


def compare(source: Input, homes: dict[str, int], folder: Path, partitions: int) -> bool:
    """Prints a row for each partition; returns true if all are equal."""
    print("partition    records        bytes  duplicates  SHA-256 of all lines in order")
    passed = True
    for partition in range(partitions):
        expected = Digest()
        for row in published(source, homes, partition):
            expected.add(row)
        got, duplicates = Digest(), 0
        seen: set[tuple[str, int]] = set()
        for row in consumed(folder / f"partition-{partition}"):
            if row[:2] in seen:
                duplicates += 1
                continue
            seen.add(row[:2])
            got.add(row)
        records, size, sha256 = got.result()
        is_equal = got.result() == expected.result()
        passed = passed and is_equal
        verdict = "equal" if is_equal else f"DIFFERS from {expected.result()}"
        print(f"{partition:9} {records:10,} {size:12,} {duplicates:11,}  {sha256[:16]} {verdict}")
    return passed


def published(source: Input, homes: dict[str, int], partition: int) -> Iterator[Row]:
    """Returns the expected contents of a partition, in order, from the input."""
    for name in source.files:
        if homes.get(name) == partition:
            for number, line in enumerate(source.lines(name), start=1):
                yield name, number, line


def consumed(path: Path) -> Iterator[Row]:
    """Returns the records written by the consumer."""
    with path.open("rb") as file:
        for row in file:
            _, name, number, line = row.removesuffix(b"\n").split(b"\t", 3)
            yield name.decode(), int(number), line
