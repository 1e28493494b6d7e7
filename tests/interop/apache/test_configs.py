"""kafka-configs: the settings of topics and of brokers."""

import pytest

import streamlog
from interop.apache.running import Refused, Tools

CONFIGS = "kafka-configs"


def settings(tools: Tools, *entity: str) -> dict[str, str]:
    """The described settings by name."""
    lines = tools.ask(CONFIGS, "--describe", *entity).splitlines()[1:]
    pairs = [line.split(" sensitive=")[0].strip().split("=", 1) for line in lines]
    return {pair[0]: pair[1] for pair in pairs}


@pytest.mark.tool("kafka-configs", "topics")
def test_settings_of_a_topic_are_described_altered_and_deleted(
    tools: Tools, observer: streamlog.Client, filled: str
) -> None:
    topic = ("--entity-type", "topics", "--entity-name", filled)
    assert settings(tools, *topic) == {}
    assert settings(tools, *topic, "--all")["segment.bytes"] == str(1 << 30)
    wanted = "retention.ms=7200000,cleanup.policy=[compact,delete]"
    tools.ask(CONFIGS, "--alter", *topic, "--add-config", wanted)
    altered = {"retention.ms": "7200000", "cleanup.policy": "compact,delete"}
    assert settings(tools, *topic) == altered
    tools.ask(CONFIGS, "--alter", *topic, "--delete-config", "cleanup.policy")
    assert settings(tools, *topic) == {"retention.ms": "7200000"}
    with pytest.raises(Refused, match="unheard-of: unknown setting"):
        tools.ask(CONFIGS, "--alter", *topic, "--add-config", "unheard-of=1")


@pytest.mark.tool("kafka-configs", "brokers")
def test_settings_of_one_broker_and_of_all_are_altered_and_deleted(tools: Tools) -> None:
    one = ("--entity-type", "brokers", "--entity-name", "1")
    every = ("--entity-type", "brokers", "--entity-default")
    tools.ask(CONFIGS, "--alter", *every, "--add-config", "log.retention.ms=7200000")
    tools.ask(CONFIGS, "--alter", *one, "--add-config", "log.retention.ms=3600000")
    assert settings(tools, *one) == {"log.retention.ms": "3600000"}
    # The second has been a default of the whole cluster since Apache Kafka 4.1.
    defaults = {"log.retention.ms": "7200000", "min.insync.replicas": "1"}
    assert settings(tools, *every) == defaults
    tools.ask(CONFIGS, "--alter", *one, "--delete-config", "log.retention.ms")
    assert settings(tools, *one, "--all")["log.retention.ms"] == "7200000"
    tools.ask(CONFIGS, "--alter", *every, "--delete-config", "log.retention.ms")
    assert settings(tools, *one, "--all")["log.retention.ms"] == "604800000"
