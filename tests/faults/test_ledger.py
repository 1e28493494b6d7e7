"""The page of the ledger names the kinds of topics, also for runs that do not tell theirs."""

from typing import Any

from faults.ledger import page


def row(**fields: object) -> dict[str, Any]:
    """A run of one fault without a finding."""
    counts = {"acknowledged": 1_000, "shown": 2, "ends": 3, "healed_seconds": 0.1, "anomalies": {}}
    where = {"commit": "c", "build": "b", "seed": 7, "client": "confluent", "faults": ["outage"]}
    return {**where, "effects": ["e"], **counts, **fields}


def test_a_run_without_a_kind_has_written_to_a_record_topic() -> None:
    rows = [row(), row(topic="record", compacted=0), row(topic="compacted", compacted=40)]
    lines = page(rows).splitlines()
    assert "| compacted | confluent | 1 | 1,000 | 40 |" in lines
    assert "| record | confluent | 2 | 2,000 | 0 |" in lines


def test_a_run_that_failed_is_listed_with_its_kind() -> None:
    where = {"commit": "c", "seed": 7, "client": "confluent", "faults": ["outage"]}
    failed = [{**where, "failed": "no"}, {**where, "topic": "byte", "failed": "no"}]
    lines = page(failed).splitlines()
    assert "- c, seed 7, outage, topic record: no" in lines
    assert "- c, seed 7, outage, topic byte: no" in lines
