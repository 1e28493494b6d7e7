"""Processor time of Spark's processes and of the broker.

Spark's processes are its Java process and the Python workers below it. The broker is counted
separately, since it can run on another machine.
"""

import os
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pyspark.sql import SparkSession

__all__ = ["Processes", "Usage"]

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Usage:
    """Seconds of processor time."""

    spark: float
    broker: float

    def __sub__(self, earlier: Self) -> "Usage":
        """Returns the time used since an earlier measurement."""
        return Usage(self.spark - earlier.spark, self.broker - earlier.broker)


@dataclass(frozen=True)
class Processes:
    """The processes of a session and of its broker."""

    spark: int
    broker: int

    @classmethod
    def of(cls, session: SparkSession, broker: int) -> Self:
        """Returns those of a session on this machine, and the broker with this process id."""
        gateway = session.sparkContext._gateway
        assert gateway is not None
        return cls(gateway.proc.pid, broker)

    def used(self) -> Usage:
        """Returns the time used so far, including that of children that have ended."""
        seconds: dict[int, float] = {}
        children: dict[int, list[int]] = defaultdict(list)
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                # The name in parentheses may have spaces.
                fields = path.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            pid = int(path.parent.name)
            children[int(fields[1])].append(pid)
            seconds[pid] = sum(map(int, fields[11:15])) / _TICKS
        return Usage(_sum(self.spark, children, seconds), seconds[self.broker])


def _sum(root: int, children: dict[int, list[int]], seconds: dict[int, float]) -> float:
    return seconds[root] + sum(_sum(child, children, seconds) for child in children[root])
