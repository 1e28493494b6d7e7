"""Every API in every version that both serve is answered the same, or it is known why not."""

import pytest

import differential.cases
from differential.support.ask import Ask, Found
from differential.support.cases import CASES
from differential.support.differences import Known, known_differences
from differential.support.peers import Peers

assert differential.cases.__all__, "the scenarios have registered themselves"

APIS = sorted(CASES)


def found_in(peers: Peers, api: str) -> list[Found]:
    """All differences of one API."""
    found = []
    for version in peers.shared()[api]:
        for case in CASES[api]:
            ask = Ask(peers, api, version)
            case(ask)
            found += ask.found
    return found


def covered(found: Found, known: Known) -> bool:
    place = found.difference
    return known.covers(found.api, found.what, (place.field, place.kafka, place.streamlog))


@pytest.mark.timeout(120)
@pytest.mark.parametrize("api", APIS)
def test_the_answers_are_the_same(peers: Peers, api: str) -> None:
    table = [known for known in known_differences() if known.api == api]
    found = found_in(peers, api)
    unknown = [str(one) for one in found if not any(covered(one, known) for known in table)]
    assert not unknown, "\n" + "\n".join(unknown)
    old = [known for known in table if not any(covered(one, known) for one in found)]
    assert not old, f"these differences are no longer there: {old}"


def test_every_api_that_both_serve_is_asked(peers: Peers) -> None:
    assert sorted(peers.shared()) == APIS


def test_streamlog_serves_nothing_that_kafka_does_not(peers: Peers) -> None:
    kafka, streamlog = (peer.advertised for peer in peers.both)
    beyond = {key for key in streamlog if key not in kafka or streamlog[key].last > kafka[key].last}
    assert beyond == set()
