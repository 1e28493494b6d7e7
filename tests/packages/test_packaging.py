"""The files in `packaging/` for init systems and containers work with a real broker.

There need be neither here: the steps of the image run in a plain directory, and the limits of the
unit are held against the system calls that a broker makes.
"""

import fnmatch
import json
import os
import re
import select
import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from packages.environment import empty_environment, install
from packages.test_packages import MACHINES, ROOT, package

PACKAGING = ROOT / "packaging"
DATA = "/var/lib/streamlog"

# Of the ten that systemd's scale has; a service without any of these limits has 9.
EXPOSURE_MAX = 2.0

# `cachestat`, by name and by number: the broker looks at pages by other means if it is refused.
# Neither systemd nor strace knows the call before 2023.
NOT_NEEDED = {"cachestat", "syscall_0x1c3"}


def instructions() -> dict[str, list[str]]:
    """The image's instructions by their word, each with all that follow it."""
    text = (PACKAGING / "Containerfile").read_text().replace("\\\n", " ")
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            word, rest = line.split(maxsplit=1)
            found.setdefault(word, []).append(rest)
    return found


def unit() -> dict[str, list[str]]:
    """The settings of the unit, each with all of its values."""
    found: dict[str, list[str]] = {}
    for line in (PACKAGING / "streamlog.service").read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            key, value = line.split("=", maxsplit=1)
            found.setdefault(key, []).append(value)
    return found


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with nothing but the wheel."""
    python = empty_environment(tmp_path_factory.mktemp("image") / "environment")
    install(python, package("*manylinux*_x86_64.whl"))
    return python.parent


@contextmanager
def running(command: list[str]) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A broker and its address; SIGTERM ends it in order."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd="/") as broker:
        try:
            assert broker.stdout is not None
            assert select.select([broker.stdout], [], [], 60)[0]
            word, address = broker.stdout.readline().split()
            assert word == "ready"
            yield broker, address
        finally:
            broker.send_signal(signal.SIGTERM)
            broker.wait(60)


def here(command: list[str], environment: Path, data: Path) -> list[str]:
    """A command as the image has it, on any free port of the loopback and on `data`."""
    program, *words = (word.replace(DATA, str(data)) for word in command)
    words = [re.sub(r"^0\.0\.0\.0:\d+$", "127.0.0.1:0", word) for word in words]
    return [str(environment / program), *words]


@pytest.mark.parametrize("machine", MACHINES)
def test_the_image_installs_the_wheel_of_its_machine(machine: str) -> None:
    (copied, _) = instructions()["COPY"][0].split()
    command = instructions()["RUN"][0].replace("$(uname -m)", machine)
    assert "pip install --no-cache-dir --no-index" in command
    installed = shlex.split(command.split("&&")[0])[-1]
    wheels = [path.name for path in ROOT.glob(copied)]
    assert fnmatch.filter(wheels, Path(installed).name) == [
        package(f"*manylinux*_{machine}.whl").name
    ]


def test_the_image_runs_a_healthy_broker_without_capabilities(
    environment: Path, tmp_path: Path
) -> None:
    told = instructions()
    assert int(told["USER"][0]) > 0
    assert told["VOLUME"] == [DATA]
    command = here(json.loads(told["ENTRYPOINT"][0]), environment, tmp_path / "data")
    # Under this user's own name, for the Python of this environment may be out of another's reach.
    powerless = ["setpriv", "--no-new-privs"]
    if os.geteuid() == 0:
        powerless += ["--bounding-set=-all", "--inh-caps=-all"]
    with running([*powerless, *command]) as (broker, address):
        check = json.loads(told["HEALTHCHECK"][0].split("CMD", maxsplit=1)[1])
        program, *words = (word.replace("127.0.0.1:9092", address) for word in check)
        subprocess.run([environment / program, *words], check=True, cwd="/")
        broker.send_signal(getattr(signal, told["STOPSIGNAL"][0]))
        assert broker.wait(60) == 0


def test_the_compose_file_gives_the_image_what_it_needs() -> None:
    service = yaml.safe_load((PACKAGING / "compose.yaml").read_text())["services"]["streamlog"]
    assert (PACKAGING / service["build"]["context"]).resolve() == ROOT
    assert (ROOT / service["build"]["dockerfile"]).is_file()
    assert service["read_only"] is True
    assert service["volumes"] == [f"streamlog:{DATA}"]


def test_systemd_takes_the_unit_and_counts_it_as_locked_down(tmp_path: Path) -> None:
    text = (PACKAGING / "streamlog.service").read_text()
    copy = tmp_path / "streamlog.service"
    # It is checked that the program is there, which here is another place.
    copy.write_text(text.replace("/usr/local/bin/streamlog", "/bin/true"))
    subprocess.run(["systemd-analyze", "verify", copy], check=True)
    rated = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", copy],
        check=True,
        capture_output=True,
        text=True,
    )
    exposure = re.search(r"exposure level for \S+ ([\d.]+)", rated.stdout)
    assert exposure is not None
    assert float(exposure[1]) <= EXPOSURE_MAX


def test_the_unit_allows_every_system_call_that_a_broker_needs(
    environment: Path, tmp_path: Path
) -> None:
    allowed: set[str] = set()
    for row in unit()["SystemCallFilter"]:
        calls = {call for group in row.lstrip("~").split() for call in system_calls(group)}
        allowed = allowed - calls if row.startswith("~") else allowed | calls
    (command,) = unit()["ExecStart"]
    program, *words = shlex.split(command.replace(DATA, str(tmp_path / "data")))
    broker = [str(environment / Path(program).name), *words, "--listen", "127.0.0.1:0"]
    record = tmp_path / "calls"
    with running(["strace", "-D", "-f", "-qq", "-o", str(record), *broker]) as (_, address):
        bootstrap = {**os.environ, "STREAMLOG_BOOTSTRAP": address}
        for line in ("produce t", "consume t -e", "topic delete t --yes"):
            run = [str(environment / "streamlog"), *line.split()]
            subprocess.run(run, input="a\n", text=True, check=True, env=bootstrap, timeout=60)
    made = set(re.findall(r"^\d+ +(\w+)\(", record.read_text(), re.MULTILINE))
    assert {"pwritev", "fdatasync", "listen"} <= made
    assert made - allowed - NOT_NEEDED == set()
    # Otherwise such a call would end the process.
    assert unit()["SystemCallErrorNumber"] == ["ENOSYS"]


def system_calls(group: str) -> Iterator[str]:
    """The calls of a filter's word, and of the groups that it is made of."""
    if not group.startswith("@"):
        yield group
        return
    command = ["systemd-analyze", "syscall-filter", "--no-pager", group]
    listed = subprocess.run(command, check=True, capture_output=True, text=True)
    for line in listed.stdout.splitlines()[1:]:
        word = line.strip()
        if word and not word.startswith("#"):
            yield from system_calls(word)
