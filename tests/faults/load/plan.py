"""The settings of the clients of a run."""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Self

READERS = 2


@dataclass(frozen=True)
class Plan:
    """The addresses, the size of the load, and where its history goes."""

    client: str
    bootstrap: str
    topic: str
    partitions: int
    history: Path
    seed: int
    rate: int
    """Records per second, over all producers."""
    keyed: bool = False
    """True if records have keys, as a compacted topic requires."""
    producers: int = 8

    @classmethod
    def parsed(cls) -> Self:
        """The plan on the command line."""
        parser = argparse.ArgumentParser(prog="faults.load", description=__doc__)
        parser.add_argument("--client", choices=["confluent", "streamlog"], required=True)
        for name in ("bootstrap", "topic"):
            parser.add_argument(f"--{name}", required=True)
        parser.add_argument("--history", type=Path, required=True)
        for name in ("partitions", "seed", "rate"):
            parser.add_argument(f"--{name}", type=int, required=True)
        parser.add_argument("--keyed", action="store_true")
        return cls(**vars(parser.parse_args()))

    def words(self) -> list[str]:
        """The command line of the plan."""
        words = ["--client", self.client, "--bootstrap", self.bootstrap, "--topic", self.topic]
        words += ["--history", str(self.history), "--partitions", str(self.partitions)]
        words += ["--seed", str(self.seed), "--rate", str(self.rate)]
        return [*words, "--keyed"] if self.keyed else words
