"""Short runs of faults; `make test-faults` makes many."""

import os
import random

import pytest

from faults.families import FAULTS
from faults.run import run
from faults.topics import TopicKind


@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", ["killed-leader", "isolated-leader", "zookeeper-away"])
def test_a_fault_loses_nothing_and_withdraws_nothing(name: str) -> None:
    seed = int(os.environ.get("STREAMLOG_SEED", random.randrange(1 << 32)))
    result = run([FAULTS[name]], seed)
    assert result.anomalies == [], f"seed {seed}, all kept in {result.kept}"
    assert result.effects, "the fault had no effect"


@pytest.mark.timeout(240)
@pytest.mark.parametrize("topic", [TopicKind.COMPACTED, TopicKind.BYTE])
def test_no_kind_of_topic_loses_records_in_an_outage(topic: TopicKind) -> None:
    seed = int(os.environ.get("STREAMLOG_SEED", random.randrange(1 << 32)))
    result = run([FAULTS["outage-of-two-with-cut-logs"]], seed, topic=topic)
    assert result.anomalies == [], f"seed {seed}, all kept in {result.kept}"
    assert result.effects, "the fault had no effect"
