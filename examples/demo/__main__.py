"""The demonstration: real text through a broker that is killed meanwhile, and compared afterwards.

    make demo                     the system's logs, else its documentation
    make demo INPUT=/some/folder  any text files

1. A broker starts on a fresh data directory.
2. This process publishes the input, line by line. Another one consumes it, and writes the records.
3. In the middle the broker is killed with SIGKILL and restarted.
4. A separate step compares the written records with the input.
"""

import signal
import subprocess
import sys
import time
from pathlib import Path

from broker import Broker
from compare import compare
from progress import Progress
from publish import publish
from source import Input, find, mebibytes

import streamlog

FOLDER = Path("target/demo")
TOPIC = "lines"
PARTITIONS = 4
CONSUMER_SECONDS = 30.0


def main() -> int:
    """Runs the demonstration; returns 0 only if everything came through."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    source = find([Path(argument) for argument in sys.argv[1:]], FOLDER)
    print(f"input     {source.describe()}")
    with Broker(FOLDER / "data") as broker:
        print(f"broker    {broker.address}, process {broker.pid}")
        passed = run(source, broker)
    for path, size in segments():
        print(f"segment   {path}: {size:,} bytes")
    print("all equal" if passed else "NOT EQUAL")
    return 0 if passed else 1


def run(source: Input, broker: Broker) -> bool:
    """Publishes and consumes at the same time, and compares."""
    begin = time.monotonic()
    with streamlog.connect(broker.address, timeout=30.0) as client:
        client.admin.create_topic(TOPIC, partitions=PARTITIONS)
        script = Path(__file__).with_name("consume.py")
        command = [sys.executable, str(script), broker.address, TOPIC, str(FOLDER / "output")]
        with (
            subprocess.Popen(command, stdout=subprocess.PIPE) as consumer,
            Progress("publish", source.records) as progress,
        ):
            try:
                wait_until_reading(consumer)
                homes = publish(client, TOPIC, source, progress, at_half=broker.crash_and_restart)
                report("published", source, begin)
                code = consumer.wait(CONSUMER_SECONDS)
            finally:
                consumer.kill()
    if code != 0:
        print(f"the consumer ended with {code}")
        return False
    report("consumed", source, begin)
    print(f"crashes   1: SIGKILL, ready again after {broker.restart_seconds * 1000:,.0f} ms")
    return compare(source, homes, FOLDER / "output", PARTITIONS)


def wait_until_reading(consumer: "subprocess.Popen[bytes]") -> None:
    """Waits until the consumer reports that it has started."""
    assert consumer.stdout is not None
    consumer.stdout.readline()


def report(what: str, source: Input, begin: float) -> None:
    """Prints the amount, and the rate since `begin`, including the crash."""
    seconds = time.monotonic() - begin
    rate = f"{source.records / seconds:,.0f} records/s, {source.size / seconds / 2**20:,.1f} MiB/s"
    print(f"{what:9} {source.records:,} records, {mebibytes(source.size)}: {rate}")


def segments() -> list[tuple[Path, int]]:
    """Returns the files that contain the records."""
    return [(path, path.stat().st_size) for path in sorted((FOLDER / "data").rglob("*.log"))]


if __name__ == "__main__":
    sys.exit(main())
