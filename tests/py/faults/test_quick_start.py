"""The commands for three brokers in `docs/quick-start.md`, with the ZooKeeper of the tests."""

import shlex
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

import streamlog
from pages.blocks import blocks
from py.faults.conftest import PATIENCE
from py.support.broker import BrokerProcess, until

PAGE = "docs/quick-start.md"


def commands() -> list[list[str]]:
    """The words of each command of the block."""
    texts = [block.text for block in blocks(PAGE) if "--zookeeper" in block.text]
    assert len(texts) == 1
    lines = [line.removeprefix("$ ") for line in texts[0].splitlines() if line.startswith("$ ")]
    return [shlex.split(line) for line in lines]


@pytest.mark.timeout(120)
def test_three_brokers_that_are_started_together_are_reached_by_five_commands(
    zookeeper: str, tmp_path: Path
) -> None:
    shown = commands()
    assert len(shown) == 5
    starts = [words for words in shown if words[:2] == ["streamlog", "broker"]]
    brokers: list[BrokerProcess] = []
    for words in starts:
        options = words[2:]
        for name, value in (("--listen", None), ("--data-dir", None), ("--zookeeper", zookeeper)):
            place = options.index(name)
            options[place : place + 2] = [name, value] if value else []
        brokers.append(BrokerProcess(tmp_path / f"broker-{len(brokers)}", *options))
    with ExitStack() as running:
        for broker in brokers:
            broker.launch()
            running.callback(broker.kill)
        for broker in brokers:
            broker.address = broker.wait_until_ready(PATIENCE)

        def know_each_other() -> bool:
            with streamlog.connect(brokers[0].address) as client:
                return len(client.admin.cluster().brokers) == 3

        until(know_each_other, PATIENCE)
        program = [sys.executable, "-m", *shown[-1], "--bootstrap", brokers[0].address]
        made = subprocess.run(program, capture_output=True, text=True, timeout=PATIENCE)
        assert made.returncode == 0, made.stderr
        check = [sys.executable, "-m", "streamlog", "cluster", "check"]
        check += ["--bootstrap", brokers[0].address]

        def is_sound() -> bool:
            return subprocess.run(check, capture_output=True, timeout=PATIENCE).returncode == 0

        until(is_sound, PATIENCE)
