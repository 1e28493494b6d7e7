"""The checks of ``python -m streamlog.spark.offline`` before Spark starts, and its exit codes."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark.errors import PySparkException, PythonException
from pyspark.sql import SparkSession

from streamlog.errors import MissingExtra
from streamlog.spark import java
from streamlog.spark.offline import __main__ as command
from streamlog.spark.offline.loading import Load

Run = Callable[..., dict[str, str | None]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs the command, and returns the environment for Spark."""
    for name in ("PYSPARK_PYTHON", "JAVA_HOME"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    found: dict[str, str | None] = {}

    def started(_builder: object) -> object:
        found.update({name: os.environ.get(name) for name in ("PYSPARK_PYTHON", "JAVA_HOME")})
        return SimpleNamespace(stop=lambda: None)

    def run(*words: str) -> dict[str, str | None]:
        argv = ["offline", str(tmp_path), "--subscribe", "orders", *words]
        monkeypatch.setattr(sys, "argv", argv)
        if command.main() != 0:
            raise SystemExit
        return found

    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", started)
    monkeypatch.setattr(java, "java_home", lambda *_: Path("/a/java"))
    monkeypatch.setattr(command, "load", lambda *_, **__: Load(tmp_path))
    return run


@pytest.mark.parametrize("master", [(), ("--master", "local[2]")])
def test_workers_are_this_python_and_java_is_found(run: Run, master: tuple[str, ...]) -> None:
    assert run(*master) == {"PYSPARK_PYTHON": sys.executable, "JAVA_HOME": "/a/java"}


def test_a_python_that_was_named_stays(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "another")
    assert run()["PYSPARK_PYTHON"] == "another"


def test_workers_of_a_cluster_use_its_python(run: Run) -> None:
    assert run("--master", "spark://there:7077") == {
        "PYSPARK_PYTHON": None,
        "JAVA_HOME": "/a/java",
    }


def test_a_server_of_spark_connect_brings_its_own(run: Run) -> None:
    assert run("--remote", "sc://there") == {"PYSPARK_PYTHON": None, "JAVA_HOME": None}


def test_without_java_it_says_what_to_install(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(*_: object) -> Path:
        raise MissingExtra("Spark needs Java")

    monkeypatch.setattr(java, "java_home", missing)
    with pytest.raises(SystemExit):
        run()
    assert capsys.readouterr().err == "error: Spark needs Java\n"


FAILED = """
  An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "tasks.py", line 27, in carry_out_one
    return write_range(job, indexes[row]).to_json()
streamlog.errors.RequestTimeout: no answer from 127.0.0.1:9092
offset 7 of topic 'orders', partition 1, could not be read for 1 s, which broker_timeout sets


JVM stacktrace:
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "tasks.py", line 27, in carry_out_one
    return write_range(job, indexes[row]).to_json()
streamlog.errors.RequestTimeout: no answer from 127.0.0.1:9092
offset 7 of topic 'orders', partition 1, could not be read for 1 s, which broker_timeout sets

\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:1)
"""


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            PythonException(FAILED),
            "error: streamlog.errors.RequestTimeout: no answer from 127.0.0.1:9092\n"
            "offset 7 of topic 'orders', partition 1, could not be read for 1 s, which "
            "broker_timeout sets\n",
        ),
        (PySparkException("[NO_MASTER] none at there:1\n\tat a.b.C"), "error: [NO_MASTER] none at "
         "there:1\n"),
        (PermissionError(13, "Permission denied", "/lake"),
         "error: [Errno 13] Permission denied: '/lake'\n"),
    ],
)  # fmt: skip
def test_a_failed_task_is_reported_with_the_error_raised_in_it(
    run: Run,
    error: Exception,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fails(*_: object, **__: object) -> Load:
        raise error

    monkeypatch.setattr(command, "load", fails)
    with pytest.raises(SystemExit):
        run()
    assert capsys.readouterr().err == told


def test_an_unreachable_address_is_named_after_the_timeout(
    tmp_path: Path,
) -> None:
    with socket.socket() as taken:
        # Bound without listening, so that no other program can use it.
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        command = [sys.executable, "-m", "streamlog.spark.offline", str(tmp_path / "lake")]
        command += ["--subscribe", "orders", "--bootstrap", address, "--broker-timeout", "1"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 1, done.stderr
    told, note = done.stderr.splitlines()[-2:]
    assert told.startswith(f"error: no broker could be reached: {address}: Connection refused")
    assert "`python -m streamlog.broker` starts one" in told
    assert note == "brokers were away for 1 s, which broker_timeout (--broker-timeout) sets"
    assert done.stdout == ""
