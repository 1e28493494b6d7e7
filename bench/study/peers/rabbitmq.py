"""RabbitMQ: a classic queue, a quorum queue or a stream, each a peer."""

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal

from study.peers.peer import Mode, Peer, Running, Setting
from study.processes import Command, family, free_ports, is_listening, served

SCRIPT = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
READY_SECONDS = 120
Kind = Literal["classic", "quorum", "stream"]

PROMISES: Mapping[Kind, Mapping[Mode, str]] = {
    "classic": {
        "cached": "persistent; confirmed once written and synced, if confirms are asked for",
        "flushed": "flushed, by group",
    },
    "quorum": {
        "cached": "flushed, by group (it has no weaker promise)",
        "flushed": "flushed, by group",
    },
    "stream": {"cached": "in the page cache"},
}


class RabbitMq(Peer):
    """One node of Debian's RabbitMQ, without the management plugin."""

    is_required = True
    packages = ((str(SCRIPT), "rabbitmq-server"), ("epmd", "erlang-base"))
    settings = (
        Setting("vm_memory_high_watermark.relative", "0.6", "publishers are not blocked early"),
        Setting("disk_free_limit.absolute", "500MB", "the study itself checks the room"),
        Setting(
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
            "+sbwt none +sbwtdcpu none +sbwtdio none",
            "on two cores a scheduler that spins takes the client's time",
        ),
    )

    def __init__(self, kind: Kind) -> None:
        """The peer with this kind of queue."""
        self.kind = kind
        self.name = f"rabbitmq-{kind}"
        self.title = f"RabbitMQ {'streams' if kind == 'stream' else f'{kind} queue'}"
        self.java_kind = self.name
        self.promises = PROMISES[kind]
        self.has_batches = kind == "stream"

    def missing(self) -> str | None:
        """Returns that it is not installed."""
        return None if SCRIPT.exists() else "the Debian package rabbitmq-server is not installed"

    def version(self) -> str:
        """Returns the version of the Debian package."""
        words = ["dpkg-query", "--showformat=${Version}", "--show", "rabbitmq-server"]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout

    @contextmanager
    def running(self, mode: Mode, folder: Path) -> Iterator[Running]:
        """Runs it during the block, and before it the port mapper, which would outlive it."""
        folder.mkdir(parents=True, exist_ok=True)
        port, stream_port, node_port, mapper_port = free_ports(4)
        (folder / "plugins").write_text("[rabbitmq_stream].\n" if self.kind == "stream" else "[].")
        lines = [f"{row.name} = {row.value}" for row in self.settings if row.name[0].islower()]
        lines += ["loopback_users = none", f"listeners.tcp.1 = 127.0.0.1:{port}"]
        if self.kind == "stream":
            lines.append(f"stream.listeners.tcp.1 = 127.0.0.1:{stream_port}")
        (folder / "rabbitmq.conf").write_text("".join(f"{line}\n" for line in lines))
        environment = self._environment(folder, node_port, mapper_port)
        answering = stream_port if self.kind == "stream" else port
        with ExitStack() as stack:
            mapper = ["epmd", "-port", str(mapper_port), "-address", "127.0.0.1"]
            epmd = stack.enter_context(served(Command(mapper, folder / "epmd", environment)))
            epmd.wait_until(lambda: is_listening(mapper_port), 10)
            words = [str(SCRIPT)]
            server = stack.enter_context(served(Command(words, folder, environment)))
            server.wait_until(lambda: "Starting broker... completed" in server.log(), READY_SECONDS)
            server.wait_until(lambda: is_listening(answering), READY_SECONDS)
            pids = family(server.process.pid)
            yield Running(f"127.0.0.1:{answering}", pids, folder / "data")

    def _environment(self, folder: Path, node_port: int, mapper_port: int) -> dict[str, str]:
        spinning = {row.name: row.value for row in self.settings if row.name[0].isupper()}
        return {
            "HOME": str(folder),
            "ERL_EPMD_PORT": str(mapper_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            # As under systemd: the script is replaced by the virtual machine.
            "RUNNING_UNDER_SYSTEMD": "true",
            "RABBITMQ_NODENAME": f"study{node_port}@localhost",
            "RABBITMQ_DIST_PORT": str(node_port),
            "RABBITMQ_CONF_ENV_FILE": str(folder / "rabbitmq-env.conf"),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
            "RABBITMQ_MNESIA_BASE": str(folder / "data"),
            "RABBITMQ_LOG_BASE": str(folder / "logs"),
            **spinning,
        }
