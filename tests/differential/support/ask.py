"""The tool of a scenario: requests of one API in one version, sent to both brokers."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from differential.support.both import Both, resolved
from differential.support.comparison import CLOSED, Difference, compared
from differential.support.peers import API_VERSIONS, Peers
from interop.support.records import Json

MOMENT_SECONDS = 1.0
PATIENCE_SECONDS = 10.0
OPEN: Json = {"connection": "open"}


@dataclass(frozen=True)
class Found:
    """A difference, and the question that led to it."""

    api: str
    version: int
    what: str
    difference: Difference

    def __str__(self) -> str:
        """The text in a report, the same in all versions."""
        where = self.difference
        return (
            f"{self.api}, {self.what}: {where.field} is {where.kafka!r:.300}"
            f" in Apache Kafka, {where.streamlog!r:.300} in streamlog"
        )


@dataclass(frozen=True)
class Pending:
    """A question whose answers may take their time."""

    what: str
    peers: Peers
    numbers: Both[int]


@dataclass
class Ask:
    """Calling it asks both brokers and keeps the differences of their answers in `found`."""

    peers: Peers
    api: str
    version: int
    case: str
    found: list[Found] = field(default_factory=list)

    def name(self, what: str) -> str:
        """A name that no other scenario uses, and no other version."""
        return f"{self.api}-{self.case}-{self.version}-{what}"

    def __call__(self, what: str, **body: object) -> Both[Json]:
        """Asks, and compares the answers; `what` says in a report what was asked."""
        return self.compare(what, self.answered(what, **body))

    def answered(self, what: str, **body: object) -> Both[Json]:
        """Asks without comparing."""
        try:
            return self.peers.ask(self.api, self.version, body)
        except TimeoutError as error:
            error.add_note(f"{self.api} version {self.version}, {what}")
            raise

    def compare(self, what: str, answers: Both[Json]) -> Both[Json]:
        """Keeps the differences between two answers."""
        for difference in compared(answers.kafka, answers.streamlog):
            self.found.append(Found(self.api, self.version, what, self._unnumbered(difference)))
        return answers

    def _unnumbered(self, difference: Difference) -> Difference:
        """A difference without the prefix of this version's names."""

        def short(value: object) -> object:
            return json.loads(json.dumps(value).replace(self.name(""), ""))

        return Difference(
            str(short(difference.field)), short(difference.kafka), short(difference.streamlog)
        )

    def unanswered(self, what: str, **body: object) -> None:
        """Asks what has no answer, and compares whether the connections live on."""
        api, bodies = self.peers.api(self.api), resolved(body)
        self.peers.both.kafka.send(api, self.version, bodies.kafka)
        self.peers.both.streamlog.send(api, self.version, bodies.streamlog)
        alive = self.peers.apis[API_VERSIONS]
        answers = self.peers.both.map(lambda peer: peer.ask(alive, 0, {}))
        self.compare(what, answers.map(lambda answer: CLOSED if answer == CLOSED else OPEN))

    def begin(self, what: str, **body: object) -> Pending:
        """Asks on connections of their own, and leaves the answers for later."""
        peers, api, bodies = self.peers.again(), self.peers.api(self.api), resolved(body)
        kafka = peers.both.kafka.send(api, self.version, bodies.kafka)
        streamlog = peers.both.streamlog.send(api, self.version, bodies.streamlog)
        return Pending(what, peers, Both(kafka, streamlog))

    def finish(self, pending: Pending) -> Both[Json]:
        """Waits for the answers to `begin` and compares them."""
        api, both = self.peers.api(self.api), pending.peers.both
        answers = Both(
            both.kafka.receive(api, self.version, pending.numbers.kafka),
            both.streamlog.receive(api, self.version, pending.numbers.streamlog),
        )
        pending.peers.close()
        return self.compare(pending.what, answers)

    def afterwards(self, what: str, api: str, **body: object) -> Both[Json]:
        """Looks with another API at what came of it, and compares what is seen.

        A broker of Apache Kafka learns of it a moment after it has answered.
        """
        deadline = time.monotonic() + MOMENT_SECONDS
        while True:
            answers = self.look(api, **body)
            is_same = not list(compared(answers.kafka, answers.streamlog))
            if is_same or time.monotonic() > deadline:
                return self.compare(f"{what}, seen by {api}", answers)
            time.sleep(0.02)

    def look(self, api: str, **body: object) -> Both[Json]:
        """Asks another API, in its highest version, without comparing."""
        return self.peers.ask(api, self.peers.shared()[api].last, body)

    def prepare(self, api: str, **body: object) -> Both[Json]:
        """Asks another API something that both have to do."""
        answers = self.look(api, **body)
        for answer in answers:
            assert not list(error_codes(answer)), f"{api} of {body} is answered {answers}"
        return answers

    def until(self, condition: Callable[[Json], bool], api: str, **body: object) -> Both[Json]:
        """Asks another API until the answers of both are as they should be."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            answers = self.look(api, **body)
            if all(condition(answer) for answer in answers):
                return answers
            assert time.monotonic() < deadline, f"{api} of {body} is still answered {answers}"
            time.sleep(0.02)


def error_codes(answer: object) -> list[int]:
    """All errors in an answer, wherever they stand."""
    if isinstance(answer, list):
        return [code for element in answer for code in error_codes(element)]
    if not isinstance(answer, dict):
        return []
    own = [answer["errorCode"]] if answer.get("errorCode") else []
    return own + [code for value in answer.values() for code in error_codes(value)]
