"""The Python package without the engine, as on macOS, is a client that names what is missing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import streamlog
from packages.environment import empty_environment, install

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.timeout(1200)

_PROGRAM = """
import streamlog

with streamlog.connect() as client:
    with client.producer() as producer:
        producer.send("orders", b"two books")
    with client.consumer("orders", group="billing") as consumer:
        print(next(consumer).value)
try:
    streamlog.Broker("data")
except streamlog.StreamlogError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the client alone."""
    folder = tmp_path_factory.mktemp("alone")
    # Without optimisation, which does not change the contents of the module.
    build = ["maturin", "build", "--profile", "dev", "--locked", "--quiet", "--out", str(folder)]
    features = ["--no-default-features", "--features", "python"]
    subprocess.run([sys.executable, "-m", *build, *features], check=True, cwd=ROOT)
    (wheel,) = folder.glob("*.whl")
    installed = empty_environment(folder / "environment")
    install(installed, wheel)
    return installed


def test_a_client_without_the_engine_publishes_and_reads(python: Path) -> None:
    with streamlog.Broker() as broker:
        environment = {**os.environ, "STREAMLOG_BOOTSTRAP": broker.address}
        run = subprocess.run(
            [python, "-c", _PROGRAM], check=True, capture_output=True, text=True, env=environment
        )
    assert run.stdout.splitlines() == [
        "b'two books'",
        "this build of streamlog has no broker, which needs Linux: start one there, and pass its "
        "address to streamlog.connect()",
    ]


def test_the_command_without_the_engine_names_the_remedy(python: Path) -> None:
    run = subprocess.run(
        [python.with_name("streamlog"), "topic", "list"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == (
        "this build of streamlog has neither the broker nor the command line, which need Linux: "
        "use streamlog.connect() with the address of a broker\n"
    )
