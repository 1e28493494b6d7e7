"""The installed package: its two entry points run the engine's command line."""

import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import streamlog

SCRIPT = Path(sys.executable).with_name("streamlog")


@pytest.mark.parametrize("entry", [[str(SCRIPT)], [sys.executable, "-m", "streamlog"]])
def test_both_entries_run_the_same_command_line(entry: list[str]) -> None:
    shown = subprocess.run([*entry, "--version"], check=True, capture_output=True, text=True)
    assert shown.stdout == f"streamlog {streamlog.__version__}\n"
    refused = subprocess.run([*entry, "no-such-noun"], capture_output=True, text=True)
    assert refused.returncode == 2
    assert "no-such-noun" in refused.stderr
    assert refused.stdout == ""


def test_a_broker_creates_its_folder_where_it_is_started(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "streamlog.broker", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as broker:
        assert broker.stdout is not None
        assert broker.stdout.readline().startswith("ready ")
        broker.terminate()
        assert broker.wait(20) == 0
    assert (tmp_path / "streamlog-data" / "meta.properties").is_file()


def test_the_package_and_the_engine_have_one_version() -> None:
    assert streamlog.__version__ == version("streamlog")


def test_type_checkers_find_the_types() -> None:
    package = Path(streamlog.__file__).parent
    assert (package / "py.typed").is_file()
    assert (package / "_core" / "__init__.pyi").is_file()


def test_a_second_interpreter_of_the_process_is_refused_clearly() -> None:
    script = (
        "import streamlog, _xxsubinterpreters as sub\n"
        "sub.run_string(sub.create(), 'import streamlog')\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=20, check=False
    )
    assert run.returncode == 1
    assert "ImportError" in run.stderr
    assert "subinterpreter" in run.stderr


def test_the_import_starts_no_thread() -> None:
    script = "import streamlog, os; print(len(os.listdir('/proc/self/task')))"
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=20, check=True
    )
    assert run.stdout == "1\n"


def end_with_ctrl_c(process: "subprocess.Popen[str]") -> tuple[int, str]:
    """Returns the exit code and the standard error after Ctrl-C."""
    process.send_signal(signal.SIGINT)
    _, complaints = process.communicate(timeout=20)
    return process.returncode, complaints


@pytest.mark.parametrize(
    "entry", [[str(SCRIPT), "broker"], [sys.executable, "-m", "streamlog.broker"]]
)
def test_ctrl_c_ends_a_broker_in_order(entry: list[str], tmp_path: Path) -> None:
    command = [*entry, "--listen", "127.0.0.1:0"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, cwd=tmp_path) as broker:
        assert broker.stdout is not None
        assert broker.stdout.readline().startswith("ready 127.0.0.1:")
        code, complaints = end_with_ctrl_c(broker)
    assert code == 0
    assert "interrupted: stopping" in complaints
    assert "Traceback" not in complaints


def test_ctrl_c_ends_a_command_without_a_trace(client: streamlog.Client, topic: str) -> None:
    with client.producer() as producer:
        producer.send(topic, b"x")
    address = client.admin.cluster().brokers[0].address
    command = [str(SCRIPT), "consume", topic, "-b", address]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as consumer:
        assert consumer.stdout is not None
        assert consumer.stdout.readline() == "x\n"
        assert end_with_ctrl_c(consumer) == (130, "")
