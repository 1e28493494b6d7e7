"""The input and the output of a task of a load."""

import json
from dataclasses import asdict, dataclass
from typing import Any, Self

from streamlog.spark.offline.plan import Loss, Plan
from streamlog.spark.options import Connection

__all__ = ["Job", "Outcome"]


@dataclass(frozen=True, slots=True)
class Job:
    """A plan with everything needed to execute its ranges in other processes."""

    connection: Connection
    path: str
    plan: Plan
    compression: str
    fail_on_data_loss: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a range."""

    index: int
    records: int = 0
    files: int = 0
    size: int = 0
    """Bytes of its files."""
    losses: tuple[Loss, ...] = ()
    is_done: bool = True
    """False if the range was not loaded, because records were lost and losses are errors."""

    def to_json(self) -> str:
        """Returns the JSON text for storage and transfer."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Parses the JSON text of an outcome."""
        told: dict[str, Any] = json.loads(text)
        losses = tuple(Loss(**loss) for loss in told.pop("losses"))
        return cls(losses=losses, **told)
