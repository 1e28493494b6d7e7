"""An anomaly of a history."""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """The kind of a broken promise."""

    INCONSISTENT_OFFSETS = "inconsistent-offsets"
    """One offset has two values."""
    DUPLICATE = "duplicate"
    """An idempotent producer's value is at two offsets."""
    GAP = "gap"
    """An offset below others has no record, and none is known that was there."""
    LOST_WRITE = "lost-write"
    """Acknowledged, never read, although records behind it were."""
    UNSEEN = "unseen"
    """Acknowledged, and beyond everything that was ever read."""
    ACKED_MISSING = "acked-missing"
    """Acknowledged and shown, and not in the final polls."""
    ACKED_MOVED = "acked-moved"
    """In the final polls, but only at another offset than acknowledged."""
    EXPOSED_THEN_LOST = "exposed-then-lost"
    """Shown without an acknowledgement, and not in the final polls."""
    ABORTED_READ = "aborted-read"
    """Shown, although its producer was told that it was not written."""
    DAMAGED_PAYLOAD = "damaged-payload"
    """A payload differs from its own checksum."""
    NEVER_SENT = "never-sent"
    """Shown, but not sent to this partition."""
    POLL_SKIP = "poll-skip"
    """The next poll goes on behind a record that it should have returned."""
    NONMONOTONIC_POLL = "nonmonotonic-poll"
    """The next poll goes back."""
    INT_POLL_SKIP = "int-poll-skip"
    """A skip within one poll."""
    INT_NONMONOTONIC_POLL = "int-nonmonotonic-poll"
    """A step back within one poll."""
    NONMONOTONIC_SEND = "nonmonotonic-send"
    """A later send of a process has a lower offset."""
    INT_NONMONOTONIC_SEND = "int-nonmonotonic-send"
    """A step back within one send."""
    REALTIME_ORDER = "realtime-order"
    """A send that was answered before another one began has a higher offset."""
    HW_REGRESSION = "hw-regression"
    """An end was answered below one that had been seen before."""
    REPLICA_DISAGREEMENT = "replica-disagreement"
    """Two replicas differ below the high watermark."""


LOST = frozenset({Kind.LOST_WRITE, Kind.UNSEEN, Kind.ACKED_MISSING, Kind.ACKED_MOVED})
"""An acknowledged record is not where it was acknowledged."""
WITHDRAWN = frozenset({Kind.EXPOSED_THEN_LOST, Kind.ACKED_MISSING})
"""A record that a consumer has seen is gone."""


@dataclass(frozen=True, slots=True)
class Anomaly:
    """A broken promise, with the place and the values that show it."""

    kind: Kind
    partition: int
    detail: str

    def __str__(self) -> str:
        """The anomaly on one line."""
        return f"{self.kind} in partition {self.partition}: {self.detail}"
