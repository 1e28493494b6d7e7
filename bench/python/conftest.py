"""Fixtures of the Python benchmarks."""

import subprocess
import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a broker shared by all benchmarks, which differ in their client only."""
    folder = tmp_path_factory.mktemp("bench")
    command = [sys.executable, "-m", "streamlog.broker", "--listen", "127.0.0.1:0"]
    command += ["--data-dir", str(folder / "data")]
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            yield process.stdout.readline().removeprefix("ready ").strip()
        finally:
            process.terminate()
