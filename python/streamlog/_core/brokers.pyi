"""Brokers in this process, one or a cluster of several."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias, final

from streamlog._core import Client

__all__ = ["Broker", "Node"]

_Config: TypeAlias = Mapping[str, Any]
_End: TypeAlias = int | Literal["clients"]

@final
class Broker:
    """A broker in this process: for tests, and for programs with a log of their own.

    It listens on a free port of the loopback interface, so that several can run side by side,
    and any Kafka client can use it. A failing disk stops the broker and not the process, and
    ``close`` raises the reason. It ends with its block, its last reference, or the program.

    With ``nodes=3`` it is a cluster of three brokers with faults on request, for tests of programs
    that use a cluster. Its records and metadata are in memory.

    Example:
        >>> with streamlog.Broker(num_partitions=4) as broker, broker.connect() as client:
        ...     client.producer().send("events", b"hi").result().topic
        'events'
    """

    def __new__(
        cls,
        data_dir: str | PathLike[str] | None = None,
        *,
        nodes: int | None = None,
        listen: str = "127.0.0.1:0",
        advertise: str | None = None,
        config: _Config | None = None,
        **settings: str | float,
    ) -> Self:
        """Starts a broker, and returns once it accepts connections.

        Args:
            data_dir: The data directory; if omitted, a temporary folder that is removed at the
                end.
            nodes: The number of brokers of a cluster, at most 16. Each has an address and a disk
                of its own, so that ``data_dir``, ``listen`` and ``advertise`` cannot be given.
            listen: The address to listen on; port 0 picks a free port.
            advertise: The address for clients; if omitted, the address that each client has used.
            config: Settings of a broker under Kafka's names.
            settings: The same with underscores for dots, as in ``num_partitions=4``.

        Raises:
            ConfigError: A setting is invalid; for an unknown name, the nearest one is suggested.
            StreamlogError: The address is taken, or the data directory cannot be used.
        """

    @property
    def address(self) -> str:
        """The address it listens on, as ``"127.0.0.1:40123"``; in a cluster, that of node 0.

        Example:
            >>> broker.address
            '127.0.0.1:...'
        """

    @property
    def bootstrap(self) -> str:
        """The addresses of all nodes, separated by commas, for the ``bootstrap`` of clients.

        Example:
            >>> broker.bootstrap == broker.address
            True
        """

    @property
    def port(self) -> int:
        """The port of the address.

        Example:
            >>> broker.port > 0
            True
        """

    @property
    def data_dir(self) -> Path:
        """The data directory.

        Raises:
            StreamlogError: It is a cluster, whose records are in memory.

        Example:
            >>> (broker.data_dir / "orders-0").is_dir()
            True
        """

    @property
    def is_running(self) -> bool:
        """True if it is neither closed nor stopped by a failing disk.

        Example:
            >>> broker.is_running
            True
        """

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes of a cluster by their numbers, from 0; empty without ``nodes=``.

        Example:
            >>> with streamlog.Broker(nodes=3) as cluster:
            ...     cluster.nodes[1].kill()
            ...     [node.is_running for node in cluster.nodes]
            [True, False, True]
        """

    def cut(self, a: _End, b: _End, *, one_way: bool = False) -> None:
        """Lets no bytes pass between two nodes, or a node and clients, until ``heal``.

        Connections stay open, and what was sent meanwhile arrives afterwards.

        Args:
            a: The number of a node, or ``"clients"``.
            b: Another node, or ``"clients"``.
            one_way: True if only bytes from ``a`` to ``b`` are held back.

        Raises:
            StreamlogError: There is no such node, both are the same, or it is no cluster.

        Example:
            >>> with streamlog.Broker(nodes=3) as cluster:
            ...     cluster.cut(0, 2)
            ...     cluster.cut("clients", 1, one_way=True)
        """

    def delay(self, a: _End, b: _End, ms: float) -> None:
        """Delays bytes between two nodes, or a node and clients, until ``heal``.

        Args:
            a: The number of a node, or ``"clients"``.
            b: Another node, or ``"clients"``.
            ms: Milliseconds in each direction.

        Raises:
            StreamlogError: There is no such node, both are the same, or it is no cluster.

        Example:
            >>> with streamlog.Broker(nodes=3) as cluster:
            ...     cluster.delay(0, 1, 20)
        """

    def heal(self) -> None:
        """Ends all cuts and delays.

        Raises:
            StreamlogError: It is no cluster.

        Example:
            >>> with streamlog.Broker(nodes=3) as cluster:
            ...     cluster.cut(0, 1)
            ...     cluster.heal()
        """

    def expire(self, node: int) -> None:
        """Ends the session of a node with the metadata store.

        Others are elected, and the node registers again as soon as it learns of it.

        Raises:
            StreamlogError: The node does not exist or run, or it is no cluster.

        Example:
            >>> with streamlog.Broker(nodes=3) as cluster:
            ...     cluster.expire(1)
        """

    def lose_power(self, node: int) -> None:
        """Ends a node as a power failure ends a machine: what was not flushed may be lost.

        Others are elected after ``zookeeper.session.timeout.ms``, 2 s in a cluster by default.

        Raises:
            StreamlogError: The node does not exist or run, or it is no cluster.

        Example:
            >>> with streamlog.Broker(nodes=3) as cluster:
            ...     cluster.lose_power(2)
            ...     cluster.nodes[2].is_running
            False
        """

    def lose_store(self, seconds: float) -> None:
        """Takes the metadata store away from all nodes for a time, and returns at once.

        No session ends meanwhile.

        Raises:
            StreamlogError: It is no cluster.

        Example:
            >>> with streamlog.Broker(nodes=3) as cluster:
            ...     cluster.lose_store(0.1)
        """

    def wait_in_sync(self, timeout: float = 30.0) -> None:
        """Waits until all nodes are registered, and all replicas of all partitions in sync.

        Args:
            timeout: Seconds.

        Raises:
            RequestTimeout: That took longer; the message names a node or a partition.
            StreamlogError: It is no cluster.

        Example:
            >>> with streamlog.Broker(nodes=3) as cluster:
            ...     cluster.nodes[0].kill()
            ...     cluster.nodes[0].start()
            ...     cluster.wait_in_sync(timeout=60)
        """

    def leader(self, topic: str, partition: int = 0) -> int | None:
        """The number of the node that leads a partition; None while no live node does.

        Raises:
            TopicNotFound: There is no such topic or partition.
            StreamlogError: It is no cluster.

        Example:
            >>> with streamlog.Broker(nodes=3) as cluster, cluster.connect() as client:
            ...     client.admin.create_topic("orders", replicas=3)
            ...     cluster.leader("orders") in (0, 1, 2)
            True
        """

    def connect(
        self,
        *,
        client_id: str = "streamlog",
        timeout: float = 10.0,
        config: _Config | None = None,
    ) -> Client:
        """Creates a client of this broker, like ``streamlog.connect``.

        Example:
            >>> broker.connect(client_id="billing", timeout=5.0).admin.topics()
            ['orders']
        """

    def close(self) -> None:
        """Flushes everything and stops. Idempotent.

        Raises:
            StreamlogError: Its disk has failed; the message says how.

        Example:
            >>> broker.close()
            >>> broker.is_running
            False
        """

    def __enter__(self) -> Self:
        """The broker itself."""

    def __exit__(self, _kind: object, _error: object, _trace: object, /) -> None:
        """Closes it."""

@final
class Node:
    """A node of a cluster in this process, from ``Broker.nodes``.

    Its faults neither end nor block the process. Calls raise ``StreamlogError`` once the cluster is
    closed.

    Example:
        >>> with streamlog.Broker(nodes=3) as cluster:
        ...     node = cluster.nodes[1]
        ...     node.kill()
        ...     node.is_running
        False
    """

    @property
    def number(self) -> int:
        """Its number, from 0, which is also the id of its broker.

        Example:
            >>> with streamlog.Broker(nodes=3) as cluster:
            ...     cluster.nodes[1].number
            1
        """

    @property
    def address(self) -> str:
        """Its address, as ``"127.0.0.1:40123"``, which it keeps when it is started again.

        Example:
            >>> with streamlog.Broker(nodes=3) as cluster:
            ...     cluster.nodes[0].address == cluster.address
            True
        """

    @property
    def is_running(self) -> bool:
        """True from its start to its end, also while it is paused.

        Example:
            >>> with streamlog.Broker(nodes=3) as cluster:
            ...     cluster.nodes[1].is_running
            True
        """

    @property
    def failure(self) -> str | None:
        """The reason why it stopped by itself, until it is started again.

        Example:
            >>> with streamlog.Broker(nodes=3) as cluster:
            ...     cluster.nodes[1].failure is None
            True
        """

    def start(self) -> None:
        """Starts it again, at its address and on its disk.

        It waits while the metadata store is lost, or counts the node's previous process as alive.

        Raises:
            StreamlogError: It runs.

        Example:
            >>> with streamlog.Broker(nodes=3) as cluster:
            ...     cluster.nodes[1].stop()
            ...     cluster.nodes[1].start()
        """

    def stop(self) -> None:
        """Stops it in order: others lead its partitions, and everything is flushed.

        Raises:
            StreamlogError: It does not run.

        Example:
            >>> with streamlog.Broker(nodes=3) as cluster:
            ...     cluster.nodes[1].stop()
        """

    def kill(self) -> None:
        """Ends it as ``kill -9`` ends a process: nothing is handed over, answered or flushed.

        Others are elected at once. What it has written is there at its next start.

        Raises:
            StreamlogError: It does not run.

        Example:
            >>> with streamlog.Broker(nodes=3) as cluster:
            ...     cluster.nodes[1].kill()
        """

    def pause(self, seconds: float) -> None:
        """Freezes it for a time, as SIGSTOP does, and returns once it stands still.

        If that is longer than ``zookeeper.session.timeout.ms``, 2 s in a cluster by default, others
        are elected, and the node learns of it afterwards. Another pause replaces the end of this
        one.

        Raises:
            StreamlogError: It does not run.

        Example:
            >>> with streamlog.Broker(nodes=3) as cluster:
            ...     cluster.nodes[1].pause(0.1)
        """

    def resume(self) -> None:
        """Ends its pause early, if there is one.

        Example:
            >>> with streamlog.Broker(nodes=3) as cluster:
            ...     cluster.nodes[1].pause(60)
            ...     cluster.nodes[1].resume()
        """
