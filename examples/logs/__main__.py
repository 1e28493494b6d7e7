"""Runs all programs of the example with a broker, and checks their alerts.

make example-logs                    or, in this folder's parent:
python -m logs [--config FILE] [--folder FOLDER]
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import streamlog
from logs import config
from logs.publish import create_topics

FOLDER = Path(__file__).parents[2] / "target" / "logs"
PATIENCE = 60.0

Alert = tuple[str, int, int]
"""Host, start of the window in milliseconds, errors."""


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Runs all of it, and checks the alerts.")
    parser.add_argument("--config", type=Path, default=config.FILE)
    parser.add_argument("--folder", type=Path, help="a new one (target/logs, emptied first)")
    arguments = parser.parse_args()
    if arguments.folder is None:
        shutil.rmtree(FOLDER, ignore_errors=True)
    folder = (arguments.folder or FOLDER).resolve()
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        parser.error(f"{folder} is there already")
    return run(config.read(arguments.config), arguments.config.read_text(), folder)


def run(settings: config.Config, text: str, folder: Path) -> int:
    """Runs everything with these settings; returns 0 only if the alerts are the expected ones."""
    began = time.monotonic()
    with streamlog.Broker(data_dir=folder / "data") as broker, broker.connect() as client:
        text = text.replace(settings.bootstrap, broker.address)
        (folder / "config.toml").write_text(
            text.replace(settings.alerts.checkpoint, str(folder / "checkpoint"))
        )
        create_topics(client, settings.topics)
        with ExitStack() as programs:
            counting = programs.enter_context(Program("count", folder))
            counting.wait_for_word()
            programs.enter_context(Program("watch", folder, is_shown=True))
            truth = folder / "truth.json"
            print(f"publishing for {settings.generator.seconds} seconds", flush=True)
            with Program("publish", folder, "--truth", str(truth)) as publishing:
                publishing.wait(settings.generator.seconds + PATIENCE)
            expected = Counter(map(_alert, json.loads(truth.read_text())))
            published = alerts(client, settings.topics.alerts, expected.total())
        records = sum(
            end or 0
            for topic in settings.topics.inputs
            for end in client.topic(topic).end_offsets().values()
        )
    print(f"{records:,} records, {expected.total()} alerts, {time.monotonic() - began:.0f} seconds")
    if published != expected:
        print(f"missing: {expected - published}\nnot expected: {published - expected}")
        return 1
    print("every alert is there, once, with the right count")
    return 0


def alerts(client: streamlog.Client, topic: str, count: int) -> Counter[Alert]:
    """Returns the published alerts, once there are `count`."""
    deadline = time.monotonic() + PATIENCE
    found: Counter[Alert] = Counter()
    while found.total() < count and time.monotonic() < deadline:
        time.sleep(0.2)
        values = [json.loads(message.value or b"{}") for message in client.topic(topic).read()]
        found = Counter((v["host"], v["from_ms"], v["errors"]) for v in values)
    return found


def _alert(row: list[object]) -> Alert:
    host, from_ms, errors = row
    assert isinstance(host, str)
    assert isinstance(from_ms, int)
    assert isinstance(errors, int)
    return host, from_ms, errors


class Program:
    """A program of the example as a separate process, with the settings in a folder."""

    def __init__(self, name: str, folder: Path, *arguments: str, is_shown: bool = False) -> None:
        """Starts it, with its output shown or hidden."""
        settings = ["--config", str(folder / "config.toml")]
        command = [sys.executable, "-m", f"logs.{name}", *settings, *arguments]
        self.name = name
        self.log = folder / f"{name}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, stdout=None if is_shown else subprocess.PIPE, stderr=log, text=True,
                cwd=Path(__file__).parents[1],
            )  # fmt: skip

    def wait_for_word(self) -> None:
        """Waits for its first line."""
        assert self.process.stdout is not None
        if not self.process.stdout.readline():
            raise SystemExit(f"{self.name} did not start: see {self.log}")

    def wait(self, seconds: float) -> None:
        """Waits for its end."""
        if self.process.wait(seconds) != 0:
            raise SystemExit(f"{self.name} failed: see {self.log}")

    def __enter__(self) -> Self:
        """Returns the program, which is running already."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stops it."""
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()


if __name__ == "__main__":
    sys.exit(main())
