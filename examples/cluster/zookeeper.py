"""A ZooKeeper server, from the jars that an installed PySpark brings along."""

import importlib.util
import socket
from pathlib import Path

JARS = ("zookeeper-3", "zookeeper-jute-", "metrics-core-", "slf4j-api-", "snappy-java-")
MAIN = "org.apache.zookeeper.server.ZooKeeperServerMain"


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
