"""The wheel for aarch64 works where nothing else is installed, on an emulator of that machine."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from packages import trial
from packages.test_packages import ROOT, package

PYTHON = ROOT / "target" / "aarch64" / "python"
"""Made by `aarch64.sh`."""

pytestmark = pytest.mark.timeout(1200)


def test_a_wheel_for_aarch64_runs_a_broker_and_the_command(tmp_path: Path) -> None:
    site = tmp_path / "site"
    kind = ["--platform", "manylinux2014_aarch64", "--python-version", "3.11"]
    kind += ["--implementation", "cp", "--abi", "abi3", "--only-binary", ":all:"]
    wheel = package("*manylinux*_aarch64.whl")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*install, *kind, "--target", str(site), str(wheel)], check=True)
    environment = {**os.environ, "PYTHONPATH": str(site)}
    machine = "import platform, streamlog; print(platform.machine())"
    shown = subprocess.run(
        [PYTHON, "-c", machine], env=environment, check=True, capture_output=True, text=True
    )
    assert shown.stdout == "aarch64\n"
    command = [str(PYTHON), "-m", "streamlog"]
    trial.broker_takes_and_gives_records([PYTHON], command, environment, tmp_path)
