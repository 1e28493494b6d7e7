"""A ZooKeeper server, from the jars that an installed PySpark brings along."""

import importlib.util
import socket
from pathlib import Path

JARS = ("zookeeper-3", "zookeeper-jute-", "metrics-core-", "slf4j-api-", "snappy-java-")
MAIN = "org.apache.zookeeper.server.ZooKeeperServerMain"
PORT = 2181


def write_config(path: Path, data: Path, port: int) -> None:
    """Writes the settings of a server on this machine alone."""
    lines = [
        "tickTime=500",
        f"dataDir={data}",
        f"clientPort={port}",
        "clientPortAddress=127.0.0.1",
        "admin.enableServer=false",
    ]
    path.write_text("\n".join(lines) + "\n")


def configured_port(config: Path) -> int:
    """The port in the settings of an earlier start, or ZooKeeper's usual one."""
    lines = config.read_text().splitlines() if config.exists() else []
    ports = (line.removeprefix("clientPort=") for line in lines if line.startswith("clientPort="))
    return int(next(ports, PORT))


def available_port(preferred: int) -> int:
    """The preferred port, or a free one if another server has it."""
    return preferred if is_free(preferred) else any_port()


def is_free(port: int) -> bool:
    """Returns whether a server on this machine can have the port."""
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def any_port() -> int:
    """A port that no server has."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def command_line(config: Path) -> list[str]:
    """The command that runs a server; it needs Java 17."""
    package = importlib.util.find_spec("pyspark")
    if package is None or package.origin is None:
        raise SystemExit("ZooKeeper's jars come with PySpark: pip install pyspark")
    jars = Path(package.origin).parent.joinpath("jars").glob("*.jar")
    found = sorted(str(jar) for jar in jars if jar.name.startswith(JARS))
    return ["java", "-Xmx256m", "-cp", ":".join(found), MAIN, str(config)]


def answers(port: int) -> bool:
    """Returns whether a server on this machine serves requests."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5.0) as connection:
            connection.sendall(b"srvr")
            return b"Mode: " in connection.recv(4096)
    except OSError:
        return False
