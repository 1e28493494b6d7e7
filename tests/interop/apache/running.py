"""Runs Apache Kafka's programs as their own scripts would, one short JVM each."""

import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from interop.support.clients import APACHE, BUILT, INTEROP
from interop.support.tools import all_tools

MAINS = {tool.name: tool.main for tool in all_tools()}
# On two cores most of a short run is the compiler's and the collector's start.
JVM = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"]
RUN_SECONDS = 60.0
STOP_SECONDS = 20.0


def command(tool: str, *arguments: str) -> list[str]:
    """The command line of a tool; a missing jar is an error of the JVM."""
    built = BUILT / APACHE
    logging = INTEROP / "drivers" / APACHE / "log4j2.properties"
    options = ["-cp", f"{built}:{built}/jars/*", f"-Dlog4j2.configurationFile={logging}"]
    return [*JVM, *options, MAINS[tool], *arguments]


class Refused(Exception):
    """A tool ended with an error; the text is what it said."""


class Tools:
    """The tools, pointed at a broker."""

    def __init__(self, address: str) -> None:
        """Keeps the broker's address."""
        self.address = address

    def run(self, tool: str, *arguments: str, stdin: str = "") -> str:
        """Runs a tool to its end and returns what it printed.

        Raises:
            Refused: It ended with an error.
        """
        done = self._run(command(tool, *arguments), stdin)
        if done.returncode != 0:
            raise Refused(done.stdout + done.stderr)
        return done.stdout

    def complaint(self, tool: str, *arguments: str) -> str:
        """All that a tool prints that cannot do its work; not each of them ends with an error."""
        done = self._run(command(tool, *arguments), "")
        return done.stdout + done.stderr

    def _run(self, words: list[str], stdin: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            words,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
            check=False,
        )

    def ask(self, tool: str, *arguments: str, stdin: str = "") -> str:
        """Runs a tool that asks the broker."""
        return self.run(tool, "--bootstrap-server", self.address, *arguments, stdin=stdin)

    def cells(self, tool: str, *arguments: str) -> list[list[str]]:
        """The words of each line that a tool prints."""
        return [line.split() for line in self.ask(tool, *arguments).splitlines() if line.strip()]


class Program:
    """A program of Apache's that runs until it is stopped or killed."""

    def __init__(self, log: Path, tool: str, *arguments: str) -> None:
        """Says how it is started; `log` gets all that it prints, over all its starts."""
        self.log_path = log
        self.command = command(tool, *arguments)
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Starts it."""
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Kills it, if it was not stopped."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        if error is not None:
            log = self.log_path.read_text(errors="replace")
            error.add_note(f"what it printed:\n{log[-4000:]}")

    def stop(self) -> None:
        """Asks it to end, as Ctrl-C does, and waits for that."""
        assert self.process is not None, "it is not running"
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(STOP_SECONDS)
        self.process = None

    def is_running(self) -> bool:
        """Return true while the process is running."""
        return self.process is not None and self.process.poll() is None


def write_properties(path: Path, settings: Mapping[str, str]) -> str:
    """Writes a file of settings as Java reads them, and returns its name."""
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    return str(path)


def http(method: str, url: str, body: bytes | None = None) -> bytes | None:
    """The answer to a request of JSON, or None as long as nobody gives one."""
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, body, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            content: bytes = answer.read()
            return content
    except (urllib.error.URLError, ConnectionError):
        return None
