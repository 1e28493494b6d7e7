"""The results of all cells, stored as one file per client, from which the page is made."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from interop.support.clients import INTEROP

RESULTS = INTEROP / "results"
WORKS = "works"


@dataclass
class Results:
    """The cells of one client, or of the tools: `works`, or the reason why it cannot."""

    client: str
    version: str
    cells: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, client: str, version: str, folder: Path = RESULTS) -> Self:
        """The recorded results of a client; empty ones of this version if there are none."""
        path = folder / f"{client}.json"
        if not path.exists():
            return cls(client, version)
        fields = json.loads(path.read_text())
        return cls(fields["client"], fields["version"], fields["cells"])

    def write(self, folder: Path = RESULTS) -> None:
        """Records them, in an order that does not depend on the run's."""
        fields = {
            "client": self.client,
            "version": self.version,
            "cells": dict(sorted(self.cells.items())),
        }
        text = json.dumps(fields, indent=1, ensure_ascii=False)
        (folder / f"{self.client}.json").write_text(text + "\n")
