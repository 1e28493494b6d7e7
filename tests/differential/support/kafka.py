"""Apache Kafka as a process: one node that is broker and controller, its data in a folder."""

import os
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

JARS = Path(__file__).parents[3] / "target" / "differential"
CLIENTS_JAR = "kafka-clients-*.jar"
# Small, and quick to start rather than quick to run.
JAVA = ("java", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{JARS}/*")
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
READY_SECONDS = 90.0
STOP_SECONDS = 20.0


def clients_jar() -> Path:
    """The jar of Kafka's own clients, which has the definitions of all messages."""
    jars = list(JARS.glob(CLIENTS_JAR))
    assert len(jars) == 1, f"`make differential` fetches Apache Kafka to {JARS}"
    return jars[0]


def version() -> str:
    """The version of Apache Kafka."""
    return clients_jar().stem.removeprefix("kafka-clients-")


class KafkaProcess:
    """A running Apache Kafka, on free ports of the loopback interface."""

    def __init__(self, folder: Path, settings: dict[str, str]) -> None:
        """Keeps everything in `folder`; `settings` are added to those that one node needs."""
        self.log_path = folder / "server.log"
        self.properties = folder / "server.properties"
        port, controller_port = _free_ports(2)
        self.address = f"127.0.0.1:{port}"
        controller = f"127.0.0.1:{controller_port}"
        rows = {
            "process.roles": "broker,controller",
            "listeners": f"PLAINTEXT://{self.address},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.address}",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.bootstrap.servers": controller,
            "log.dirs": str(folder / "data"),
            **settings,
        }
        self.properties.write_text("".join(f"{name}={value}\n" for name, value in rows.items()))
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Formats its folder, starts it and waits until it serves."""
        self._run("kafka.tools.StorageTool", "format", "--standalone", "-t", CLUSTER_ID, "-c")
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                [*JAVA, "kafka.Kafka", str(self.properties)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=_environment(),
            )
        deadline = time.monotonic() + READY_SECONDS
        while "Kafka Server started" not in self.log():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.__exit__(None, None, None)
                raise AssertionError(f"Apache Kafka does not start:\n{self.log()[-4000:]}")
            time.sleep(0.1)
        return self

    def _run(self, *command: str) -> None:
        line = [*JAVA, *command, str(self.properties)]
        done = subprocess.run(line, capture_output=True, text=True, env=_environment())
        assert done.returncode == 0, done.stdout + done.stderr

    def log(self) -> str:
        """The log output so far."""
        return self.log_path.read_text(errors="replace")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends it; nobody needs its data any more."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(STOP_SECONDS)


def _environment() -> dict[str, str]:
    """The caller's environment without variables that affect the virtual machine."""
    return {name: value for name, value in os.environ.items() if not name.startswith("JAVA_TOOL")}


def _free_ports(count: int) -> list[int]:
    """Ports that are free now; they are held together, so that they differ."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listening.getsockname()[1] for listening in sockets]
    for listening in sockets:
        listening.close()
    return ports
