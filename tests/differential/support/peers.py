"""Both brokers as they are talked to: APIs, versions, requests, answers."""

import time
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import count

from differential.support.both import Both, resolved
from differential.support.codec import decode_answer, encode_request
from differential.support.comparison import CLOSED
from differential.support.connection import Connection
from differential.support.schemas import Api, Versions, said
from interop.support.records import Json

API_VERSIONS = 18
GROUP_ID_NOT_FOUND = 69
PATIENCE_SECONDS = 30.0

_numbers = count(1)


@dataclass
class Peer:
    """One broker."""

    apis: dict[int, Api]
    connection: Connection
    # Of each API the fields that were ever sent with a value other than their default.
    said: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    advertised: dict[int, Versions] = field(default_factory=dict)

    def ask(self, api: Api, version: int, body: object) -> Json:
        """Sends a request and waits for its answer, `CLOSED` if there is none."""
        return self.receive(api, version, self.send(api, version, body))

    def send(self, api: Api, version: int, body: object) -> int:
        """Sends a request and returns its number."""
        assert isinstance(body, dict)
        number = next(_numbers)
        self.said[api.name] |= set(said(api.request.fields, version, body))
        self.connection.send(encode_request(api, version, number, body))
        return number

    def receive(self, api: Api, version: int, number: int) -> Json:
        """The answer to the request of that number."""
        frame = self.connection.receive()
        return CLOSED if frame is None else decode_answer(api, version, number, frame)

    def raw(self, request: bytes) -> bytes | None:
        """Sends any bytes as a request and returns the frame that answers them."""
        self.connection.send(request)
        return self.connection.receive()

    def learn(self) -> None:
        """Asks which APIs and versions the broker serves."""
        api = self.apis[API_VERSIONS]
        software = {"clientSoftwareName": "differential", "clientSoftwareVersion": "1"}
        for row in self.ask(api, 3, software)["apiKeys"]:
            self.advertised[row["apiKey"]] = Versions(row["minVersion"], row["maxVersion"])


@dataclass
class Peers:
    """The two brokers side by side."""

    apis: dict[int, Api]
    both: Both[Peer]

    @classmethod
    def at(cls, apis: dict[int, Api], addresses: Both[str]) -> "Peers":
        """Connects to both and learns what they serve."""
        both = addresses.map(lambda address: Peer(apis, Connection(address)))
        for peer in both:
            peer.learn()
        return cls(apis, both)

    @property
    def addresses(self) -> Both[str]:
        """The addresses of both brokers."""
        return self.both.map(lambda peer: ":".join(map(str, peer.connection.address)))

    def again(self) -> "Peers":
        """The same brokers on connections of their own."""
        said = self.both.kafka.said
        connect = lambda at: Peer(self.apis, Connection(at), said)  # noqa: E731
        return Peers(self.apis, self.addresses.map(connect))

    def close(self) -> None:
        """Closes the connections."""
        for peer in self.both:
            peer.connection.close()

    def shared(self) -> dict[str, Versions]:
        """The versions of every API that both serve; those whose frames are defined at all."""
        found = {}
        for key, versions in sorted(self.both.kafka.advertised.items()):
            theirs = self.both.streamlog.advertised.get(key)
            if theirs is not None:
                api = self.apis[key]
                found[api.name] = versions & theirs & api.request.versions
        return found

    def api(self, name: str) -> Api:
        """An API by its name."""
        return next(api for api in self.apis.values() if api.name == name)

    def ask(self, name: str, version: int, body: Json) -> Both[Json]:
        """The same request to both."""
        api, bodies = self.api(name), resolved(body)
        return Both(
            self.both.kafka.ask(api, version, bodies.kafka),
            self.both.streamlog.ask(api, version, bodies.streamlog),
        )

    def wait_for_coordinators(self) -> None:
        """Has both make their internal topics, and waits until their coordinators serve."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            self.ask("FindCoordinator", 4, {"coordinatorKeys": ["g"]})
            groups = self.ask("DeleteGroups", 2, {"groupsNames": ["g"]})
            transactions = self.ask("FindCoordinator", 4, {"keyType": 1, "coordinatorKeys": ["t"]})
            found = groups.map(lambda answer: answer["results"][0]["errorCode"])
            told = transactions.map(lambda answer: answer["coordinators"][0]["errorCode"])
            if [*found, *told] == [GROUP_ID_NOT_FOUND, GROUP_ID_NOT_FOUND, 0, 0]:
                return
            assert time.monotonic() < deadline, f"not served yet: {groups}, {transactions}"
            time.sleep(0.05)
