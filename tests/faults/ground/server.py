"""The ZooKeeper of a cluster, in its own namespace."""

import signal
import socket
import subprocess
from pathlib import Path

from cluster.zookeeper import command_line
from faults.ground.namespaces import Network
from faults.ground.session import Session
from faults.ground.waiting import until

NODE = "zk"
PORT = 2181
TICK_MILLISECONDS = 300


class ZooKeeper:
    """A server that can be killed, paused and started again on the same data."""

    def __init__(self, network: Network, folder: Path) -> None:
        """Writes its settings; it is not started."""
        self.network = network
        self.address = (network.addresses[NODE], PORT)
        self._config = folder / "zookeeper.cfg"
        self._log = folder / "zookeeper.log"
        settings = {
            "tickTime": TICK_MILLISECONDS,
            "maxSessionTimeout": 60_000,
            "dataDir": folder / "zookeeper",
            "clientPort": PORT,
            "maxClientCnxns": 0,
            "admin.enableServer": "false",
        }
        lines = (f"{key}={value}\n" for key, value in settings.items())
        self._config.write_text("".join(lines))
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it, and waits until it answers."""
        java = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        command = self.network.command(NODE, *java, *command_line(self._config)[1:])
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        until(f"ZooKeeper answers, see {self._log}", self.answers)

    def kill(self) -> None:
        """Kills it."""
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            process.wait()

    def pause(self) -> None:
        """Lets it stand still."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Lets it go on."""
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def answers(self, node: str = NODE) -> bool:
        """Returns whether it serves requests of a node."""
        try:
            with self.network.inside(node):
                connection = socket.create_connection(self.address, timeout=1.0)
            with connection:
                connection.sendall(b"srvr")
                return b"Mode: " in connection.recv(4096)
        except OSError:
            return False

    def session(self, taken: tuple[int, bytes] = (0, bytes(16))) -> Session:
        """A session of the harness, or one that it takes over."""
        with self.network.inside(NODE):
            return Session(self.address, taken)
