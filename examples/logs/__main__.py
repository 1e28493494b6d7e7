"""All programs of the example side by side, with a broker, and a check of what came of it.

make example-logs
"""

import json
import shutil
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
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
    """Runs it all; 0 only if the alerts are those that there must be."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    began = time.monotonic()
    with streamlog.Broker(data_dir=FOLDER / "data") as broker, broker.connect() as client:
        settings = replace(config.read(), bootstrap=broker.address)
        create_topics(client, settings.topics)
        with ExitStack() as programs:
            counting = programs.enter_context(Program("count", broker.address))
            counting.wait_for_word()
            programs.enter_context(Program("watch", broker.address, is_shown=True))
            truth = FOLDER / "truth.json"
            print(f"publishing for {settings.generator.seconds} seconds", flush=True)
            with Program("publish", broker.address, "--truth", str(truth)) as publishing:
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
    """The alerts that were published, once there are so many."""
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
    """One of the programs in a process of its own, with this broker's address in its settings."""

    def __init__(self, name: str, address: str, *arguments: str, is_shown: bool = False) -> None:
        """Starts it; what it says is shown, or kept from the reader."""
        settings = FOLDER / "config.toml"
        text = config.FILE.read_text().replace('"127.0.0.1:9092"', f'"{address}"')
        settings.write_text(text.replace("target/logs/checkpoint", str(FOLDER / "checkpoint")))
        command = [sys.executable, "-m", f"logs.{name}", "--config", str(settings), *arguments]
        self.name = name
        self.log = FOLDER / f"{name}.log"
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
        """It runs already."""
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
