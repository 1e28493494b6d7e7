"""Servers that load a program once and fork their workers: each tested with the real server.

The program connects and publishes before the workers are forked; the workers use the same client
and producer, each over its own connections.
"""

import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import streamlog
from py.support.broker import BrokerProcess, until

SECONDS = 25.0

WEB_PROGRAM = """
import os, streamlog

client = streamlog.connect()
producer = client.producer()
producer.send(os.environ["TOPIC"], b"loaded").result()

def app(environ, start_response):
    sent = producer.send(os.environ["TOPIC"], b"served by %d" % os.getpid()).result(10)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"%d %d" % (os.getpid(), sent.offset)]
"""

TASK_PROGRAM = """
import os, streamlog
from celery import Celery

client = streamlog.connect()
producer = client.producer()
producer.send(os.environ["TOPIC"], b"loaded").result()

app = Celery("program", broker="filesystem://", backend="file://" + os.environ["RESULTS"])
app.conf.broker_transport_options = {
    "data_folder_in": os.environ["QUEUE"],
    "data_folder_out": os.environ["QUEUE"],
}
app.conf.worker_prefetch_multiplier = 1

@app.task
def publish(number):
    producer.send(os.environ["TOPIC"], b"task %d" % number).result(10)
    return os.getpid()
"""


@contextmanager
def running(command: list[str], folder: Path, environment: dict[str, str]) -> Iterator[Path]:
    """Runs a server as a process, and yields its log file."""
    log = folder / "log"
    with (
        log.open("wb") as out,
        subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=folder,
            env={**os.environ, **environment},
            stdout=out,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            yield log
            process.send_signal(signal.SIGTERM)
            assert process.wait(SECONDS) == 0, log.read_text()
        finally:
            process.kill()


def address_of(log: Path) -> str:
    """Returns the address in gunicorn's log: it chooses a free port."""
    listening = re.compile(r"Listening at: (http://\S+)")
    until(lambda: listening.search(log.read_text()), SECONDS)
    found = listening.search(log.read_text())
    assert found is not None
    return found[1]


def ask(url: str) -> list[int]:
    with urllib.request.urlopen(url, timeout=SECONDS) as answer:
        return [int(word) for word in answer.read().split()]


def published(address: str, topic: str) -> list[bytes]:
    with streamlog.connect(address) as client:
        return [message.value or b"" for message in client.topic(topic).read()]


def test_workers_of_gunicorn_share_a_preloaded_program(
    shared_broker: BrokerProcess, topic: str, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(WEB_PROGRAM)
    command = ["gunicorn", "--preload", "--workers", "2", "--bind", "127.0.0.1:0"]
    command += ["--no-control-socket", "program:app"]
    environment = {"STREAMLOG_BOOTSTRAP": shared_broker.address, "TOPIC": topic}
    with running(command, tmp_path, environment) as log:
        url = address_of(log)
        answers = [ask(url) for _ in range(10)]
    assert sorted(offset for _, offset in answers) == list(range(1, 11))
    values = published(shared_broker.address, topic)
    assert values[0] == b"loaded"
    assert sorted(values[1:]) == sorted(b"served by %d" % pid for pid, _ in answers)


def test_workers_of_celery_share_a_preloaded_program(
    shared_broker: BrokerProcess, topic: str, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(TASK_PROGRAM)
    queue, results = tmp_path / "queue", tmp_path / "results"
    queue.mkdir()
    results.mkdir()
    environment = {
        "STREAMLOG_BOOTSTRAP": shared_broker.address,
        "TOPIC": topic,
        "QUEUE": str(queue),
        "RESULTS": str(results),
    }
    command = ["celery", "-A", "program", "worker", "--pool", "prefork", "--concurrency", "2"]
    ask_for_tasks = (
        "import program; print(*{program.publish.delay(n).get(timeout=20) for n in range(10)})"
    )
    with running(command, tmp_path, environment) as log:
        asking = subprocess.run(
            [sys.executable, "-c", ask_for_tasks],
            cwd=tmp_path,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=40,
            check=False,
        )
        assert asking.returncode == 0, asking.stderr + log.read_text()
    values = published(shared_broker.address, topic)
    assert values.count(b"loaded") == 2
    assert sorted(values)[2:] == [b"task %d" % number for number in range(10)]
