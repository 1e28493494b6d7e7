"""The wheels of `make wheels` fit old systems, and run where nothing else is installed."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from packages import trial
from packages.environment import empty_environment, install

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / "target" / "packages"
WHEEL_MIB_MAX = 8
MACHINES = {"x86_64": 62, "aarch64": 183}
"""Their numbers in the header of a module (ELF's e_machine)."""

pytestmark = pytest.mark.timeout(1200)


def package(pattern: str) -> Path:
    """The one package of this name."""
    (found,) = PACKAGES.glob(pattern)
    return found


def extension(wheel: Path) -> bytes:
    """The native module of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".so"))
        return archive.read(name)


def instructions(wheel: Path) -> int:
    """The number of the machine that the native module is for."""
    return int.from_bytes(extension(wheel)[18:20], "little")


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("library", ["manylinux", "musllinux"])
def test_a_wheel_is_small_and_needs_no_other_package(library: str, machine: str) -> None:
    wheel = package(f"*{library}*_{machine}.whl")
    assert wheel.stat().st_size <= WHEEL_MIB_MAX << 20
    assert "-cp311-abi3-" in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        metadata = archive.read(name).decode()
    needs = re.findall(r"^Requires-Dist: (.*)$", metadata, re.MULTILINE)
    assert [need for need in needs if "extra ==" not in need] == []


@pytest.mark.parametrize("machine", MACHINES)
def test_a_wheel_for_glibc_asks_for_nothing_newer_than_it_says(machine: str) -> None:
    wheel = package(f"*manylinux*_{machine}.whl")
    assert f"manylinux_2_17_{machine}" in wheel.name
    assert instructions(wheel) == MACHINES[machine]
    versions = {int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", extension(wheel))}
    assert max(versions) <= 17


@pytest.mark.parametrize("machine", MACHINES)
def test_a_wheel_for_musl_asks_for_no_glibc(machine: str) -> None:
    wheel = package(f"*musllinux*_{machine}.whl")
    assert f"musllinux_1_2_{machine}" in wheel.name
    assert instructions(wheel) == MACHINES[machine]
    module = extension(wheel)
    assert b"GLIBC_" not in module
    assert b"libc.so" in module


def test_a_wheel_alone_runs_a_broker_and_the_command(tmp_path: Path) -> None:
    python = empty_environment(tmp_path / "environment")
    install(python, package("*manylinux*_x86_64.whl"))
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format=freeze"], check=True, capture_output=True, text=True
    )
    others = {line.split("==")[0] for line in listed.stdout.split()} - {"pip", "setuptools"}
    assert others == {"streamlog"}
    command = python.with_name("streamlog")
    shown = subprocess.run([command, "--help"], check=True, capture_output=True, text=True)
    assert "Usage: streamlog" in shown.stdout
    trial.broker_takes_and_gives_records([python], [command], dict(os.environ), tmp_path)


def test_the_sdist_has_all_sources_and_builds_a_wheel(tmp_path: Path) -> None:
    sdist = package("*.tar.gz")
    with tarfile.open(sdist) as archive:
        packed = {Path(*Path(name).parts[1:]) for name in archive.getnames()}
    sources = {path.relative_to(ROOT) for path in (ROOT / "src").rglob("*.rs")}
    assert sources - packed == set()
    # Without optimisation, which changes nothing in what is built of what.
    environment = {
        **os.environ,
        "MATURIN_PEP517_ARGS": "--profile dev",
        "CARGO_TARGET_DIR": str(ROOT / "target"),
    }
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "-w", str(tmp_path), str(sdist)], check=True, env=environment)
    (wheel,) = tmp_path.glob("*.whl")
    python = empty_environment(tmp_path / "environment")
    install(python, wheel)
    program = "import streamlog; print(streamlog.__version__)"
    run = subprocess.run([python, "-c", program], check=True, capture_output=True, text=True)
    assert run.stdout.strip() == sdist.name.removeprefix("streamlog-").removesuffix(".tar.gz")
