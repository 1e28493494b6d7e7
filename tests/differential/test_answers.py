"""Every API in every version that both serve is answered the same, or it is known why not."""

import os

import pytest

import differential.cases
from differential.cases.rights import ANY, rule_filter
from differential.support import kafka
from differential.support.ask import Ask, Found
from differential.support.both import Both
from differential.support.cases import CASES
from differential.support.codec import encode_request
from differential.support.comparison import CLOSED
from differential.support.differences import Known, known_differences
from differential.support.page import Compared
from differential.support.peers import Peers
from differential.support.schemas import fields_of

assert differential.cases.__all__, "the scenarios have registered themselves"

APIS = sorted(CASES)
# What has no answer, or a closed connection for one, if nothing is said.
ANSWERED = {"Produce": {"acks": 1}, "DescribeAcls": rule_filter(ANY)}


class Answers:
    """The answers of both brokers, of which each API is asked once."""

    def __init__(self, peers: Peers) -> None:
        """Nothing has been asked yet."""
        self.peers = peers
        self.found: dict[str, list[Found]] = {}

    def of(self, api: str) -> list[Found]:
        """All differences of one API."""
        if api not in self.found:
            found = self.found[api] = []
            for version in self.peers.shared()[api]:
                for case in CASES[api]:
                    ask = Ask(self.peers, api, version, case.__name__)
                    case(ask)
                    found += ask.found
        return self.found[api]


@pytest.fixture(scope="module")
def answers(peers: Peers) -> Answers:
    """The responses to compare, requested once for all tests."""
    return Answers(peers)


def report(found: list[Found]) -> list[str]:
    """One line for each difference, with the versions that have it."""
    versions: dict[str, list[int]] = {}
    for one in found:
        versions.setdefault(str(one), []).append(one.version)
    return [f"{line}, versions {seen}" for line, seen in versions.items()]


def covered(found: Found, known: Known) -> bool:
    place = found.difference
    return known.covers(found.api, found.what, (place.field, place.kafka, place.streamlog))


@pytest.mark.timeout(120)
@pytest.mark.parametrize("api", APIS)
def test_the_answers_are_the_same(answers: Answers, api: str) -> None:
    table = [known for known in known_differences() if known.api == api]
    found = answers.of(api)
    unknown = [one for one in found if not any(covered(one, known) for known in table)]
    assert not unknown, "\n" + "\n".join(report(unknown))
    old = [known for known in table if not any(covered(one, known) for one in found)]
    assert not old, f"these differences are no longer there: {old}"


@pytest.mark.timeout(120)
@pytest.mark.parametrize("api", APIS)
def test_every_field_is_sent_with_a_value_of_its_own(
    answers: Answers, peers: Peers, api: str
) -> None:
    answers.of(api)
    served, fields = peers.shared()[api], peers.api(api).request.fields
    missing = set(fields_of(fields, served)) - peers.both.kafka.said[api]
    assert not missing, f"{api} is never asked with values in {sorted(missing)}"


def test_every_api_that_both_serve_is_asked(peers: Peers) -> None:
    assert sorted(peers.shared()) == APIS


def test_the_page_says_which_versions_were_compared(peers: Peers) -> None:
    ranges = {api: f"{served.first} to {served.last}" for api, served in peers.shared().items()}
    compared = Compared(kafka.version(), dict(sorted(ranges.items())))
    if "STREAMLOG_WRITE_PAGES" in os.environ:
        compared.write()
    assert Compared.read() == compared, "run `make compatibility`"


def test_streamlog_serves_nothing_that_kafka_does_not(peers: Peers) -> None:
    kafka, streamlog = (peer.advertised for peer in peers.both)
    beyond = {key for key in streamlog if key not in kafka or streamlog[key].last > kafka[key].last}
    assert beyond == set()


@pytest.mark.parametrize("api", APIS)
def test_a_version_that_neither_serves_is_refused_alike(peers: Peers, api: str) -> None:
    key = peers.api(api).key
    served = [peer.advertised[key] for peer in peers.both]
    lowest = min(versions.first for versions in served)
    highest = max(versions.last for versions in served)
    for version in (-1, lowest - 1, highest + 1, 32767):
        answers = peers.ask(api, version, {})
        # Kafka says with it which versions there are of this one API; streamlog says it of all.
        codes = answers.map(lambda answer: answer if answer == CLOSED else answer["errorCode"])
        assert codes.kafka == codes.streamlog, f"version {version}"


@pytest.mark.parametrize("api", APIS)
def test_a_request_of_the_wrong_length_is_refused_alike(peers: Peers, api: str) -> None:
    version = peers.shared()[api].last
    request = encode_request(peers.api(api), version, 1, ANSWERED.get(api, {}))
    for wrong in (request[:-1], request[:9], request + b"\0"):
        answers = peers.both.map(lambda peer: peer.raw(wrong))  # noqa: B023
        assert (answers.kafka is None) == (answers.streamlog is None), wrong.hex()


def test_an_api_that_neither_knows_is_refused_alike(peers: Peers) -> None:
    answers = peers.both.map(lambda peer: peer.raw(b"\x7f\xff\0\0\0\0\0\1\xff\xff"))
    assert answers == Both(None, None)
