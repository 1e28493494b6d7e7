"""The operations of a history, with their times on one monotonic clock in nanoseconds."""

from dataclasses import dataclass, field
from enum import StrEnum


class Outcome(StrEnum):
    """The knowledge of a producer about a record."""

    OK = "ok"
    FAILED = "failed"
    """The record was certainly not written."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Record:
    """A record that was sent, with the offset of its acknowledgement if there is one."""

    value: int
    outcome: Outcome
    offset: int | None = None
    error: int | None = None
    """The code that the client has reported."""


@dataclass(frozen=True, slots=True)
class Send:
    """Records that a process sent to one partition, one after another."""

    process: int
    partition: int
    invoked: int
    returned: int
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """A record as a consumer got it; without a value, its payload was damaged."""

    partition: int
    offset: int
    value: int | None


@dataclass(frozen=True, slots=True)
class Poll:
    """Records that one call of a consumer returned."""

    process: int
    invoked: int
    returned: int
    records: tuple[Seen, ...]
    final: bool = False
    """True if it belongs to the polls after all faults, from the beginning to the end."""


@dataclass(frozen=True, slots=True)
class Assign:
    """The start of a new sequence of polls, at positions unrelated to the earlier ones."""

    process: int
    at: int
    subscribed: bool = False
    """True if a group chooses the partitions, which may change between two polls."""


@dataclass(frozen=True, slots=True)
class End:
    """The end of a partition as a leader answered it."""

    process: int
    partition: int
    invoked: int
    returned: int
    offset: int


@dataclass(frozen=True, slots=True)
class Event:
    """Something that the harness did."""

    at: int
    name: str


Operation = Send | Poll | Assign | End | Event


@dataclass(slots=True)
class History:
    """All operations of a run, each kind in the order of its invocations."""

    sends: list[Send] = field(default_factory=list)
    polls: list[Poll] = field(default_factory=list)
    assigns: list[Assign] = field(default_factory=list)
    ends: list[End] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    repeating: set[int] = field(default_factory=set)
    """The producers without idempotence, whose retries may repeat a record."""

    def add(self, operation: Operation) -> None:
        """Appends an operation."""
        match operation:
            case Send():
                self.sends.append(operation)
            case Poll():
                self.polls.append(operation)
            case Assign():
                self.assigns.append(operation)
            case End():
                self.ends.append(operation)
            case Event():
                self.events.append(operation)

    def sort(self) -> None:
        """Brings the operations into the order of their invocations."""
        self.sends.sort(key=lambda send: send.invoked)
        self.polls.sort(key=lambda poll: poll.invoked)
        self.assigns.sort(key=lambda assign: assign.at)
        self.ends.sort(key=lambda end: end.invoked)
        self.events.sort(key=lambda event: event.at)

    @property
    def acknowledged(self) -> int:
        """The number of acknowledged records."""
        return sum(r.outcome is Outcome.OK for send in self.sends for r in send.records)

    @property
    def shown(self) -> int:
        """The number of records that consumers got before the final polls."""
        return sum(len(poll.records) for poll in self.polls if not poll.final)
