"""Publishes records of machines: generated ones, or the lines of a real log as they are written.

python -m logs.publish                           generated, as long as config.toml says
python -m logs.publish --follow /var/log/syslog  a file as it grows, until Ctrl-C
python -m logs.publish --journal                 the journal of this machine, until Ctrl-C
"""

import argparse
import json
import os
import socket
import subprocess
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import BinaryIO

import streamlog
from logs import config
from logs.machines import Machines


def create_topics(client: streamlog.Client, topics: config.Topics) -> None:
    """Creates missing topics."""
    for name in (*topics.inputs, topics.alerts):
        client.admin.create_topic(name, partitions=topics.partitions, exist_ok=True)


def publish_made_up(client: streamlog.Client, settings: config.Config) -> Machines:
    """Publishes in real time, then a record that is later than all windows."""
    machines = Machines(settings)
    began = time.monotonic()
    start_ms = int(time.time() * 1000)
    with client.producer() as producer:
        for record in machines.records(start_ms):
            ahead = (record.time_ms - start_ms) / 1000 - (time.monotonic() - began)
            if ahead > 0.02:
                time.sleep(ahead)
            producer.send(
                record.topic, record.value, key=record.host.encode(), timestamp=record.time_ms
            )
        producer.send(
            settings.topics.metrics, b"{}", key=b"clock", timestamp=time_after_all(settings)
        )
    return machines


def time_after_all(settings: config.Config) -> int:
    """Returns a time in milliseconds at which every window is closed."""
    alerts = settings.alerts
    return int(time.time() * 1000) + (2 * alerts.window_seconds + alerts.delay_seconds) * 1000


def follow(path: Path) -> Generator[bytes, None, None]:
    """Yields lines added to a file from now on, also after it was rotated."""
    file = path.open("rb")
    file.seek(0, os.SEEK_END)
    return _lines(path, file)


def _lines(path: Path, file: BinaryIO) -> Generator[bytes, None, None]:
    is_replaced = False
    try:
        while True:
            line = file.readline()
            if line.endswith(b"\n"):
                yield line.rstrip(b"\n")
            elif is_replaced:
                # All lines written before the rotation are read; the last line is complete.
                if line:
                    yield line
                file.close()
                file = path.open("rb")
                is_replaced = False
            else:
                file.seek(-len(line), os.SEEK_CUR)
                is_replaced = _is_replaced(path, file)
                if not is_replaced:
                    time.sleep(0.2)
    finally:
        file.close()


def _is_replaced(path: Path, file: BinaryIO) -> bool:
    """Returns true if another file has the name now."""
    try:
        return path.stat().st_ino != os.fstat(file.fileno()).st_ino
    except FileNotFoundError:
        return False


def journal() -> Iterator[bytes]:
    """Yields new lines of this machine's journal."""
    command = ["journalctl", "--follow", "--lines=0", "--output=short-iso-precise"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield line.rstrip(b"\n")


def publish_lines(client: streamlog.Client, topic: str, lines: Iterator[bytes]) -> None:
    """Publishes lines of this machine, except empty ones."""
    host = socket.gethostname().encode()
    with client.producer() as producer:
        for line in filter(None, lines):
            producer.send(topic, line, key=host)


def main() -> None:
    """Publishes records according to the arguments."""
    parser = argparse.ArgumentParser(description="Publishes what machines say.")
    parser.add_argument("--config", type=Path, default=config.FILE)
    parser.add_argument("--truth", type=Path, help="where to write what alerts there must be")
    real = parser.add_mutually_exclusive_group()
    real.add_argument("--follow", type=Path, metavar="FILE")
    real.add_argument("--journal", action="store_true")
    arguments = parser.parse_args()
    settings = config.read(arguments.config)
    with streamlog.connect(settings.bootstrap) as client:
        create_topics(client, settings.topics)
        if arguments.follow is not None:
            publish_lines(client, settings.topics.system, follow(arguments.follow))
        elif arguments.journal:
            publish_lines(client, settings.topics.system, journal())
        else:
            machines = publish_made_up(client, settings)
            if arguments.truth is not None:
                alerts = [(*place, count) for place, count in machines.alerts().items()]
                arguments.truth.write_text(json.dumps(alerts))


if __name__ == "__main__":
    main()
