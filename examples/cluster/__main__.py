"""Three brokers and a ZooKeeper on this machine, which run on after this command.

    make cluster       starts them on 127.0.0.1:9092 to 9094, with all data in ./streamlog-cluster
    make cluster-stop  stops them; the data stays

A broker that was killed is started again by another `make cluster`. If another server has
ZooKeeper's usual port, 2181, this ZooKeeper takes a free one.
"""

import argparse
import sys
from pathlib import Path

from cluster.processes import Process
from cluster.zookeeper import (
    answers,
    available_port,
    command_line,
    configured_port,
    is_free,
    write_config,
)

FOLDER = Path("streamlog-cluster")
BROKERS = {1: 9092, 2: 9093, 3: 9094}


def processes(folder: Path) -> list[Process]:
    """All processes, in the order in which they start."""
    config = folder / "zookeeper.cfg"
    port = configured_port(config)
    server = Process(
        name="zookeeper",
        command=command_line(config),
        log=folder / "zookeeper.log",
        is_ready=lambda _: answers(port),
    )
    return [server, *(broker(folder, number, port) for number in BROKERS)]


def broker(folder: Path, number: int, zookeeper: int) -> Process:
    """The process of a broker, on the ZooKeeper at this port."""
    name = f"broker-{number}"
    command = [sys.executable, "-m", "streamlog.broker", "--broker-id", str(number)]
    command += ["--zookeeper", f"127.0.0.1:{zookeeper}/streamlog"]
    command += ["--listen", f"127.0.0.1:{BROKERS[number]}", "--data-dir", str(folder / name)]
    log = folder / f"{name}.log"
    return Process(name=name, command=command, log=log, is_ready=lambda log: b"ready " in log)


def zookeeper_port(folder: Path) -> int:
    """The port for ZooKeeper, which must stay the same while a process of the cluster uses it."""
    port = configured_port(folder / "zookeeper.cfg")
    server, *brokers = processes(folder)
    if server.is_running:
        return port
    if not any(broker.is_running for broker in brokers):
        return available_port(port)
    if not is_free(port):
        raise SystemExit(
            f"port {port}, where the brokers expect their ZooKeeper, is taken by another server: "
            "stop that server, or the brokers by `make cluster-stop`"
        )
    return port


def main() -> None:
    """Starts or stops all processes."""
    parser = argparse.ArgumentParser(prog="cluster", description=__doc__)
    parser.add_argument("action", choices=["start", "stop"])
    parser.add_argument("--folder", type=Path, default=FOLDER)
    arguments = parser.parse_args()
    folder = arguments.folder.absolute()
    if arguments.action == "stop":
        for process in reversed(processes(folder)):
            print(process.stop())
        return
    folder.mkdir(parents=True, exist_ok=True)
    write_config(folder / "zookeeper.cfg", folder / "zookeeper", zookeeper_port(folder))
    for process in processes(folder):
        print(process.start())
    addresses = ",".join(f"127.0.0.1:{port}" for port in BROKERS.values())
    print(f"brokers    {addresses}\ndata       {folder}")


if __name__ == "__main__":
    main()
