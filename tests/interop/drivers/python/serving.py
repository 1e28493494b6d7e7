"""The driver's end of the line protocol, for drivers in Python."""

import json
import sys
import traceback
from abc import ABC, abstractmethod
from typing import Any, TypeAlias

from interop.support.records import Json, Record

Start: TypeAlias = str | dict[str, int]
# Something of a client that comes without types.
Foreign: TypeAlias = Any


class Refusal(Exception):
    """An error of the client, with the protocol's word for it."""

    def __init__(self, kind: str, text: object) -> None:
        """Keeps the client's words."""
        super().__init__(kind, str(text))
        self.kind = kind
        self.text = str(text)


class Verbs(ABC):
    """The verbs of a driver. Verbs that a driver leaves out are unsupported."""

    @abstractmethod
    def hello(self) -> Json:
        """Name and version."""

    def create(self, topic: str, partitions: int, config: dict[str, str]) -> None:
        """Creates a topic."""
        raise unsupported("topics")

    def delete(self, topic: str) -> None:
        """Deletes a topic."""
        raise unsupported("topics")

    def produce(
        self, topic: str, records: list[Record], *, codec: str, acks: str, idempotent: bool
    ) -> list[int | None]:
        """Produces and returns the offsets."""
        raise unsupported("producing")

    def open(self, topic: str, partition: int, start: Start) -> None:
        """Begins to read a partition."""
        raise unsupported("consuming")

    def read(self, count: int, seconds: float) -> list[Record]:
        """Reads on."""
        raise unsupported("consuming")

    def seek(self, offset: int) -> None:
        """Goes elsewhere."""
        raise unsupported("seeking")

    def join(self, group: str, topic: str, session_ms: int) -> None:
        """Joins a group."""
        raise unsupported("groups")

    def poll(self, count: int, seconds: float) -> tuple[list[Record], list[int]]:
        """Reads as a member."""
        raise unsupported("groups")

    def commit(self) -> None:
        """Commits what was read."""
        raise unsupported("groups")

    def leave(self) -> None:
        """Leaves the group."""
        raise unsupported("groups")


def unsupported(what: object) -> Refusal:
    """The error of a client that cannot do something."""
    return Refusal("unsupported", f"the client has no {what}")


def _execute(verbs: Verbs, verb: str, request: dict[str, Any]) -> Json:
    match verb:
        case "hello":
            return verbs.hello()
        case "produce":
            rows = [Record.of_json(row) for row in request.pop("records")]
            return {"offsets": verbs.produce(request.pop("topic"), rows, **request)}
        case "open":
            verbs.open(request["topic"], request["partition"], request["from"])
            return {}
        case "read":
            return {"records": [record.json() for record in verbs.read(**request)]}
        case "poll":
            records, assignment = verbs.poll(**request)
            return {
                "records": [record.json() for record in records],
                "assignment": sorted(assignment),
            }
        case _:
            getattr(verbs, verb)(**request)
            return {}


def serve(verbs: Verbs) -> None:
    """Answers requests until there are no more."""
    for line in sys.stdin.buffer:
        request = json.loads(line)
        try:
            answer: Json = {"ok": _execute(verbs, request.pop("verb"), request)}
        except Refusal as error:
            answer = {"error": error.kind, "text": error.text}
        except Exception as error:
            traceback.print_exc()
            answer = {"error": "other", "text": repr(error)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
