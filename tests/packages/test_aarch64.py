"""The wheels for aarch64 work where nothing else is installed, on an emulator of that machine."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from packages import trial
from packages.test_packages import ROOT, package

EMULATED = ROOT / "target" / "aarch64"
"""Made by `aarch64.sh`."""

pytestmark = pytest.mark.timeout(1200)


@pytest.mark.parametrize(
    ("platform", "python", "library"),
    [("manylinux2014", "python", "gnu"), ("musllinux_1_2", "python-musl", "musl")],
)
def test_a_wheel_for_aarch64_runs_a_broker_and_the_command(
    platform: str, python: str, library: str, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    kind = ["--platform", f"{platform}_aarch64", "--python-version", "3.11"]
    kind += ["--implementation", "cp", "--abi", "abi3", "--only-binary", ":all:"]
    wheel = package(f"*{platform.partition('_')[0]}*_aarch64.whl")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*install, *kind, "--target", str(site), str(wheel)], check=True)
    emulated, environment = EMULATED / python, {**os.environ, "PYTHONPATH": str(site)}
    assert _machine(emulated, environment) == f"aarch64 {library}\n"
    command = [str(emulated), "-m", "streamlog"]
    trial.broker_takes_and_gives_records([emulated], command, environment, tmp_path)


def _machine(python: Path, environment: dict[str, str]) -> str:
    """Returns the machine on which the package is imported, and the C library in use."""
    program = r"""
import platform, re, streamlog
maps = open("/proc/self/maps").read()
print(platform.machine(), *set(re.findall(r"/aarch64-linux-(\w+)/libc\.so", maps)))
"""
    shown = subprocess.run(
        [python, "-c", program], env=environment, check=True, capture_output=True, text=True
    )
    return shown.stdout
