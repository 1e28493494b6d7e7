"""Ctrl-C ends a command cleanly: started records are finished, and its group is left."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import streamlog
from py.support.broker import BrokerProcess, until
from py.test_package import SCRIPT


@contextmanager
def running(*command: str) -> Iterator["subprocess.Popen[str]"]:
    """A command with open pipes, killed at the end of the test."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [str(SCRIPT), *command], stdin=pipe, stdout=pipe, stderr=pipe, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def press_ctrl_c(process: "subprocess.Popen[str]") -> tuple[int, str]:
    """Returns the exit code and the standard error after Ctrl-C."""
    process.send_signal(signal.SIGINT)
    code = process.wait(10)
    assert process.stderr is not None
    return code, process.stderr.read()


def test_a_member_stores_what_it_has_shown_and_leaves_its_group(
    shared_broker: BrokerProcess, client: streamlog.Client, topic: str
) -> None:
    with client.producer() as producer:
        producer.send_all(topic, [b"1", b"2", b"3"])
    command = ["consume", topic, "-g", topic, "-X", "auto.commit.interval.ms=60000"]
    with running(*command, "-b", shared_broker.address) as consumer:
        assert consumer.stdout is not None
        assert [consumer.stdout.readline() for _ in range(3)] == ["1\n", "2\n", "3\n"]
        assert press_ctrl_c(consumer) == (130, "")
    group = client.admin.group(topic)
    assert group.describe().members == []
    assert sum(group.lag().values()) == 0


def test_a_person_who_types_records_is_heard_at_once(
    shared_broker: BrokerProcess, client: streamlog.Client, topic: str
) -> None:
    client.admin.create_topic(topic, partitions=1)
    with running("produce", topic, "-b", shared_broker.address) as producer:
        assert producer.stdin is not None
        producer.stdin.write("first\nsecond\nhalf a li")
        producer.stdin.flush()
        until(lambda: client.topic(topic).end_offsets() == {0: 2})
        assert press_ctrl_c(producer) == (130, "")
    assert [message.value for message in client.topic(topic).partition(0)[:]] == [
        b"first",
        b"second",
    ]


def test_a_start_that_is_interrupted_ends_without_a_traceback(tmp_path: Path) -> None:
    package = tmp_path / "streamlog"
    package.mkdir()
    slow = "import time\nprint('importing', flush=True)\ntime.sleep(60)\n"
    (package / "__init__.py").write_text(slow)
    pipe = subprocess.PIPE
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [str(SCRIPT), "topic", "list"]
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=env) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "importing\n"
        # The shell reports the end by the signal as exit code 130.
        assert press_ctrl_c(process) == (-signal.SIGINT, "")
