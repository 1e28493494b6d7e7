"""kafka-consumer-groups: groups, their members, their offsets."""

from datetime import UTC, datetime

import pytest

import streamlog
from interop.apache.conftest import FIRST_MS
from interop.apache.running import Tools

GROUPS = "kafka-consumer-groups"


@pytest.fixture
def group(observer: streamlog.Client, filled: str) -> str:
    """A group, named as its topic, that stands at 300 in both partitions; nobody is in it."""
    with observer.consumer(filled, group=filled) as consumer:
        assert len(list(consumer.until_end())) == 1000
    observer.admin.group(filled).reset(filled, to=300)
    return filled


def rows(tools: Tools, group: str, *arguments: str) -> list[list[str]]:
    """The rows about a group, without their head."""
    cells = tools.cells(GROUPS, "--group", group, *arguments)
    return [row for row in cells if row[0] == group]


@pytest.mark.tool("kafka-consumer-groups", "describe")
@pytest.mark.tool("kafka-groups", "list")
def test_groups_are_listed_with_their_lag_and_their_members(
    tools: Tools, observer: streamlog.Client, group: str
) -> None:
    idle = [[group, group, str(part), "300", "500", "200", "-", "-", "-"] for part in range(2)]
    assert sorted(rows(tools, group, "--describe")) == idle
    (state,) = rows(tools, group, "--describe", "--state")
    assert (state[1], state[-2:]) == (tools.address, ["Empty", "0"])

    with observer.consumer(group, group=group, commit="manual") as consumer:
        next(consumer)
        assert [group, "Stable"] in tools.cells(GROUPS, "--list", "--state")
        assert [group, "Classic", "consumer"] in tools.cells("kafka-groups", "--list")
        (member,) = rows(tools, group, "--describe", "--members", "--verbose")
        assert member[2] == "/127.0.0.1"
        assert "2" in member
        assert f"{group}:0,1" in member
        busy = rows(tools, group, "--describe", "--offsets")
        assert [row[2:6] for row in sorted(busy)] == [row[2:6] for row in idle]
        assert {row[6] for row in busy} == {member[1]}
        told = tools.ask(GROUPS, "--delete", "--group", group)
        assert "GroupNotEmptyException" in told


@pytest.mark.tool("kafka-consumer-groups", "offsets")
def test_offsets_of_a_group_are_reset_and_deleted(
    tools: Tools, observer: streamlog.Client, group: str
) -> None:
    def reset(*arguments: str, topic: str = group) -> dict[int, int]:
        found = rows(tools, group, "--reset-offsets", "--topic", topic, *arguments)
        return {int(row[2]): int(row[3]) for row in found}

    def committed() -> dict[int, int]:
        return {place[1]: at for place, at in observer.admin.group(group).committed().items()}

    assert reset("--to-earliest", "--dry-run") == {0: 0, 1: 0}
    assert committed() == {0: 300, 1: 300}
    assert reset("--shift-by", "-50", "--execute", topic=f"{group}:1") == {1: 250}
    assert committed() == {0: 300, 1: 250}
    noon = datetime.fromtimestamp((FIRST_MS + 800) / 1000, UTC).isoformat(timespec="milliseconds")
    assert reset("--to-datetime", noon, "--execute") == committed() == {0: 400, 1: 400}
    assert reset("--to-offset", "9999", "--execute") == committed() == {0: 500, 1: 500}
    assert reset("--to-earliest", "--execute") == committed() == {0: 0, 1: 0}

    tools.ask(GROUPS, "--delete-offsets", "--group", group, "--topic", f"{group}:0")
    assert committed() == {1: 0}
    tools.ask(GROUPS, "--delete", "--group", group)
    assert group not in observer.admin.groups()
