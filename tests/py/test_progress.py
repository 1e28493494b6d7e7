"""Progress bars are drawn on terminals only."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from py.support.broker import BrokerProcess
from py.support.terminal import drawn, terminal
from py.test_package import SCRIPT

RECORDS = 20_000


@pytest.fixture(scope="module")
def filled(shared_broker: BrokerProcess) -> str:
    """A topic with records."""
    lines = "\n".join(str(number) for number in range(RECORDS))
    command = [str(SCRIPT), "produce", "filled", "-b", shared_broker.address]
    subprocess.run(command, input=lines, text=True, check=True)
    return "filled"


def commands(broker: BrokerProcess, topic: str, folder: Path) -> list[list[str]]:
    """The commands with a known amount of work."""
    files = [folder / f"{number}.txt" for number in range(20)]
    for file in files:
        file.write_text("x" * 100_000)
    at = ["-b", broker.address]
    return [
        ["bench", "produce", "measured", "-n", "20000", *at],
        ["bench", "consume", topic, *at],
        ["bench", "latency", "measured", "-n", "20", *at],
        ["consume", topic, "--no-follow", *at],
        ["produce", "files", *(f"--file={path}" for path in files), "-o", "json", *at],
        ["log", "verify", str(broker.data_dir)],
    ]


def on_a_terminal(command: list[str], **environment: str) -> tuple[bytes, bytes]:
    """Returns a command's standard output, and what it draws on a terminal at standard error."""
    with (
        terminal() as (ours, theirs),
        subprocess.Popen(
            [SCRIPT, *command],
            stdout=subprocess.PIPE,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm", **environment},
        ) as process,
    ):
        os.close(theirs)
        assert process.stdout is not None
        out = process.stdout.read()
        lines = drawn(ours)
    assert process.returncode == 0, lines
    return out, lines


def test_a_bar_is_drawn_on_a_terminal_and_gone_in_the_end(
    shared_broker: BrokerProcess, filled: str, tmp_path: Path
) -> None:
    for command in commands(shared_broker, filled, tmp_path):
        out, drawn = on_a_terminal(command, NO_COLOR="")
        assert b" left" in drawn, command
        assert b"%" in drawn, command
        assert not re.search(rb"\d\.\d+/s", drawn), command
        assert drawn.rindex(b"\x1b[2K") > drawn.rindex(b" left"), (command, drawn[-80:])
        assert out, command
        assert b"\x1b" not in out, command


def test_no_bar_is_drawn_without_a_terminal(
    shared_broker: BrokerProcess, filled: str, tmp_path: Path
) -> None:
    for command in commands(shared_broker, filled, tmp_path):
        run = subprocess.run([SCRIPT, *command], capture_output=True, check=True, timeout=20)
        assert run.stdout, command
        assert run.stderr == b"", command


def test_no_bar_is_drawn_with_no_color(
    shared_broker: BrokerProcess, filled: str, tmp_path: Path
) -> None:
    for command in commands(shared_broker, filled, tmp_path):
        out, drawn = on_a_terminal(command, NO_COLOR="1")
        assert out, command
        assert b"\x1b" not in drawn, command
        assert b"%" not in drawn, command
