"""The installed package: its two entries are the engine's command line."""

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


def test_the_package_and_the_engine_have_one_version() -> None:
    assert streamlog.__version__ == version("streamlog")


def test_type_checkers_find_the_types() -> None:
    package = Path(streamlog.__file__).parent
    assert (package / "py.typed").is_file()
    assert (package / "_core" / "__init__.pyi").is_file()
