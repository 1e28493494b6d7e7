"""What a task of a load is told, and what it answers."""

import json
from dataclasses import asdict, dataclass
from typing import Any, Self

from streamlog.spark.offline.plan import Loss, Plan
from streamlog.spark.options import Connection

__all__ = ["Job", "Outcome"]


@dataclass(frozen=True, slots=True)
class Job:
    """A plan with all that it takes to carry out its ranges, elsewhere."""

    connection: Connection
    path: str
    plan: Plan
    compression: str
    fail_on_data_loss: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a range."""

    index: int
    records: int = 0
    files: int = 0
    size: int = 0
    """Bytes of its files."""
    losses: tuple[Loss, ...] = ()
    is_done: bool = True
    """False when records were lost and that is an error: nothing of the range was done."""

    def to_json(self) -> str:
        """The text that is kept, and sent."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """What such a text says."""
        told: dict[str, Any] = json.loads(text)
        losses = tuple(Loss(**loss) for loss in told.pop("losses"))
        return cls(losses=losses, **told)
