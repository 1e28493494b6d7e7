"""Console blocks: commands after `$ `, each followed by its expected output.

A broker started by a command runs until the end of the page, as if in another terminal. A command
whose output ends with `^C` is interrupted once it has printed the rest.
"""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SECONDS = 90.0
_BROKERS = ("streamlog broker", "python -m streamlog.broker")
_INTERRUPT = "^C"


@dataclass(frozen=True)
class Command:
    """A command, and its expected output."""

    line: str
    output: str

    @property
    def starts_broker(self) -> bool:
        """True if it starts a broker, which runs until the end of the page."""
        return self.line.startswith(_BROKERS) and "--help" not in self.line

    @property
    def is_interrupted(self) -> bool:
        """True if Ctrl-C ends it."""
        return self.output.rstrip().endswith(_INTERRUPT)


def commands(text: str) -> Iterator[Command]:
    """Returns the commands of a block; a backslash at the end of a line continues it."""
    line, output = "", ""
    for row in text.splitlines():
        if line.endswith("\\"):
            line = line.removesuffix("\\") + row.lstrip("> ")
        elif row.startswith("$ "):
            if line:
                yield Command(line, output)
            line, output = row.removeprefix("$ "), ""
        elif not line:
            raise ValueError(f"'{row}' follows no command: begin it with '$ '")
        else:
            output += row + "\n"
    yield Command(line, output)


class Shell:
    """Runs commands in a folder, each in its own bash process."""

    def __init__(self, folder: Path, programs: Path | None = None) -> None:
        """Uses `python` and `streamlog` in `programs`, or those beside this interpreter."""
        self._folder = folder
        self._brokers: list[subprocess.Popen[str]] = []
        path = f"{programs or Path(sys.executable).parent}:{os.environ['PATH']}"
        self.environment = {**os.environ, "PATH": path, "HOME": str(folder), "NO_COLOR": "1"}
        self.environment["PYTHONUNBUFFERED"] = "1"
        self.environment.pop("PYTHONPATH", None)

    def run(self, command: str) -> str:
        """Runs a command that has to succeed, and returns its output."""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self._folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"exit code {done.returncode}:\n{done.stdout}"
        return done.stdout

    def run_and_interrupt(self, command: str, lines: int) -> str:
        """Runs a command, interrupts it after `lines` lines, and returns its output."""
        process = self._start(command, stderr=subprocess.STDOUT)
        assert process.stdout is not None
        printed = ""
        try:
            for _ in range(lines):
                printed += _line_of(process)
            os.killpg(process.pid, signal.SIGINT)
            rest, _ = process.communicate(timeout=_SECONDS)
        finally:
            process.kill()
        return printed + rest

    def start_broker(self, command: str) -> str:
        """Starts a broker on a free port, and returns its ready line."""
        log = self._folder / "broker.log"
        with log.open("ab") as complaints:
            broker = self._start(command, stderr=complaints.fileno())
        self._brokers.append(broker)
        line = _line_of(broker)
        assert line.startswith("ready "), log.read_text()
        return line

    def stop_brokers(self) -> None:
        """Stops the brokers, and checks that they exit with 0."""
        for broker in self._brokers:
            os.killpg(broker.pid, signal.SIGINT)
        codes = []
        for broker in self._brokers:
            try:
                broker.communicate(timeout=_SECONDS)
                codes.append(broker.returncode)
            finally:
                broker.kill()
        assert not any(codes), codes

    def _start(self, command: str, stderr: int) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=self._folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            bufsize=0,
            start_new_session=True,
        )


def _line_of(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    deadline = time.monotonic() + _SECONDS
    line = ""
    while not line.endswith("\n"):
        left = max(0.0, deadline - time.monotonic())
        readable, _, _ = select.select([process.stdout], [], [], left)
        letter = os.read(process.stdout.fileno(), 1).decode(errors="replace") if readable else ""
        if not letter:
            break
        line += letter
    return line
