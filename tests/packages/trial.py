"""The trial of an installed wheel: run a broker, then publish and read through it."""

import select
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["broker_takes_and_gives_records"]

_READ = """
import streamlog
with streamlog.connect() as client, client.consumer("t") as consumer:
    print([message.value for message in consumer.take(2, timeout=30)])
"""


def broker_takes_and_gives_records(
    python: Sequence[str | Path],
    command: Sequence[str | Path],
    environment: Mapping[str, str],
    folder: Path,
) -> None:
    """Starts a broker by `python` in `folder`, and uses it by `command` and by `python`."""
    broker = subprocess.Popen(
        [*python, "-m", "streamlog.broker", "--listen", "127.0.0.1:0", "--data-dir", "data"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    with broker:
        try:
            assert broker.stdout is not None
            assert select.select([broker.stdout], [], [], 60)[0]
            word, address = broker.stdout.readline().split()
            assert word == "ready"
            inside = {**environment, "STREAMLOG_BOOTSTRAP": address}
            subprocess.run(
                [*command, "produce", "t"], input="a\nb\n", text=True, env=inside, check=True
            )
            read = subprocess.run(
                [*python, "-c", _READ], env=inside, check=True, capture_output=True, text=True
            )
            assert read.stdout == "[b'a', b'b']\n"
            broker.send_signal(signal.SIGTERM)
            assert broker.wait(60) == 0
        finally:
            broker.kill()
