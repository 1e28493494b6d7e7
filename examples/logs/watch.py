"""Prints alerts as they arrive, until Ctrl-C.

python -m logs.watch
"""

import argparse
import json
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path

import streamlog
from logs import config


def line(value: bytes) -> str:
    """Formats an alert as a line."""
    alert = json.loads(value)
    begin, end = (_clock(alert[name]) for name in ("from_ms", "until_ms"))
    load = "" if alert.get("load") is None else f", load up to {alert['load']:.1f}"
    return (
        f"{begin} to {end}  {alert['host']:20} {alert['errors']:4} errors: "
        f"{alert['log_errors']} in its log, {alert['failed_pages']} failed pages{load}"
    )


def main() -> None:
    """Prints alerts."""
    parser = argparse.ArgumentParser(description="Prints alerts as they come.")
    parser.add_argument("--config", type=Path, default=config.FILE)
    settings = config.read(parser.parse_args().config)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with (
        streamlog.connect(settings.bootstrap) as client,
        client.consumer(settings.topics.alerts) as consumer,
    ):
        for message in consumer:
            print(line(message.value or b"{}"), flush=True)


def _clock(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%H:%M:%S")


if __name__ == "__main__":
    main()
