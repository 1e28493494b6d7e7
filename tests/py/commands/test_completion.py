"""Completion in bash, called in the same way as by the Tab key."""

import os
import subprocess
from pathlib import Path

import streamlog
from py.support.broker import BrokerProcess
from py.test_package import SCRIPT

# Bash calls the function registered for the command, with the words so far.
PRESS_TAB = r"""
source <(streamlog completion bash)
function=$(complete -p streamlog | sed -E 's/.* -F ([^ ]+) .*/\1/')
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_TYPE=9
"$function" streamlog "${@: -1}" "${@: -2:1}"
printf '%s\n' "${COMPREPLY[@]}"
"""


def completed(*words: str, **environment: str) -> list[str]:
    """Returns the completions of the last word."""
    path = f"{SCRIPT.parent}:{os.environ['PATH']}"
    run = subprocess.run(
        ["bash", "-c", PRESS_TAB, "bash", "streamlog", *words],
        env={**os.environ, "PATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    assert run.stderr == "", words
    return run.stdout.split()


def test_nouns_verbs_and_values_are_completed() -> None:
    assert completed("to") == ["topic"]
    assert completed("topic", "de") == ["describe", "delete"]
    assert completed("topic", "list", "-o", "") == ["text", "json", "yaml", "csv"]


def test_names_of_topics_and_groups_are_completed(broker: BrokerProcess) -> None:
    with streamlog.connect(broker.address) as client:
        for topic in ["orders", "others", "clicks"]:
            client.admin.create_topic(topic, partitions=1)
        for group in ["billing", "bills", "mail"]:
            client.admin.group(group).commit({("orders", 0): 0})
    at = {"STREAMLOG_BOOTSTRAP": broker.address}
    for command in [["tail"], ["topic", "describe"], ["consume"], ["group", "reset", "-t"]]:
        assert completed(*command, "o", **at) == ["orders", "others"], command
    for verb in ["describe", "reset", "delete"]:
        assert completed("group", verb, "bi", **at) == ["billing", "bills"], verb
    assert completed("consume", "orders", "--group", "", **at) == ["billing", "bills", "mail"]
    assert completed("consume", "orders", "-g", "m", **at) == ["mail"]


def test_a_context_says_whose_names_are_completed(broker: BrokerProcess, tmp_path: Path) -> None:
    with streamlog.connect(broker.address) as client:
        client.admin.create_topic("orders", partitions=1)
    contexts = tmp_path / "config.toml"
    contexts.write_text(f'[context.here]\nbootstrap.servers = "{broker.address}"\n')
    at = {"STREAMLOG_CONFIG": str(contexts), "STREAMLOG_BOOTSTRAP": ""}
    assert completed("tail", "o", STREAMLOG_CONTEXT="here", **at) == ["orders"]


def test_names_of_contexts_are_completed(tmp_path: Path) -> None:
    contexts = tmp_path / "config.toml"
    tables = [f"[context.{name}]\nlinger.ms = 1\n" for name in ["staging", "stable", "near"]]
    contexts.write_text("".join(tables))
    at = {"STREAMLOG_CONFIG": str(contexts), "STREAMLOG_BOOTSTRAP": "127.0.0.1:1"}
    for command in [["context", "use"], ["context", "remove"], ["topic", "list", "--context"]]:
        assert completed(*command, "sta", **at) == ["staging", "stable"], command


def test_options_say_whose_names_are_completed(broker: BrokerProcess, tmp_path: Path) -> None:
    with streamlog.connect(broker.address) as client:
        client.admin.create_topic("orders", partitions=1)
        client.admin.group("a:b").commit({("orders", 0): 0})
    contexts = tmp_path / "config.toml"
    contexts.write_text(f'[context.here]\nbootstrap.servers = "{broker.address}"\n')
    at = {"STREAMLOG_CONFIG": str(contexts), "STREAMLOG_BOOTSTRAP": "127.0.0.1:1"}
    assert completed("topic", "describe", "o", **at) == []
    assert completed("topic", "describe", "--context", "here", "o", **at) == ["orders"]
    # Bash splits words at these characters, and replaces only the last part.
    host, port = broker.address.split(":")
    assert completed("topic", "alter", "-b", host, ":", port, "o", **at) == ["orders"]
    assert completed("tail", "--context", "=", "here", "o", **at) == ["orders"]
    group = ["consume", "orders", "--context", "here", "--group", "=", "a", ":", "b"]
    assert completed(*group, **at) == ["b"]


def test_a_broker_that_is_down_completes_nothing_and_says_nothing() -> None:
    assert completed("group", "describe", "b", STREAMLOG_BOOTSTRAP="127.0.0.1:1") == []
