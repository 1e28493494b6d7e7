"""The native module. ``mypy.stubtest`` proves that this stub tells the truth.

Durations are seconds, sizes are bytes or texts as ``"64 MiB"``. Every call that waits releases the
interpreter and ends at once when a signal's handler raises, as Ctrl-C's does. ``timeout=None``
waits for as long as the client's own limits allow. What asks a broker raises ``ConnectError`` or
``RequestTimeout`` when none answers in time, and ``Closed`` after ``close``. In a child forked off,
clients and producers connect anew; everything else that they made belongs to the parent, and raises
``ForkError``. ``config={...}`` takes settings under Kafka's names; one that is given as a keyword
too, and one that is unknown, raise ``ConfigError``.
"""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Final, Literal, Self, TypeAlias, final, overload

from typing_extensions import TypeVar

from streamlog._core import admin, aio, arrow, bounded, producing, reading, republishing
from streamlog._core.admin import Admin
from streamlog._core.producing import Producer
from streamlog._core.reading import Consumer, _Start
from streamlog.events import ClientStats, Event
from streamlog.groups import Broadcast
from streamlog.queues.letters import DeadLetters
from streamlog.stopping import Event as _Stop
from streamlog.topic import Topic

__all__ = [
    "Broker",
    "Client",
    "__version__",
    "admin",
    "aio",
    "arrow",
    "bounded",
    "main",
    "producing",
    "reading",
    "republishing",
]

_V = TypeVar("_V", default=bytes)
_K = TypeVar("_K", default=bytes)
_Sent = TypeVar("_Sent", default=bytes | bytearray)
_KeySent = TypeVar("_KeySent", default=bytes | bytearray)
_Config: TypeAlias = Mapping[str, Any]
_Decoder: TypeAlias = Callable[[bytes], _V]
_Serializer: TypeAlias = Callable[[_Sent], bytes | bytearray | str | None]
_Choice: TypeAlias = Callable[[str, bytes | None, bytes | None, int], int]
_Listener = TypeVar("_Listener", bound=Callable[[Event], object])
_Changed: TypeAlias = Callable[[list[tuple[str, int]]], object]

__version__: Final[str]
"""Version of the package and of the engine in it."""

def main(argv: Sequence[str]) -> int:
    """Runs the command line with the arguments after the program's name.

    Returns the exit code: 0 done, 1 failed, 2 wrong usage. The interpreter is released meanwhile.
    """

@final
class Client:
    """A client of a cluster; ``streamlog.connect`` is another name for it.

    It is pickled as its settings, and connects anew when it is unpickled.

    Example:
        >>> with streamlog.connect(broker.address) as client:
        ...     client.admin.topics()
        ['orders']
    """

    def __new__(
        cls,
        bootstrap: str | Sequence[str] | None = None,
        *,
        client_id: str = "streamlog",
        timeout: float = 10.0,
        config: _Config | None = None,
    ) -> Self:
        """Connects to the first of the addresses that answers.

        Args:
            bootstrap: ``"HOST:PORT"``, several with commas between them, or a list. If omitted,
                the environment's STREAMLOG_BOOTSTRAP, and then 127.0.0.1:9092.
            client_id: The name that brokers log.
            timeout: Seconds that a call may take that is given no time of its own.
            config: Other settings of the connections under Kafka's names.

        Raises:
            ConnectError: No address answered; ``tried`` has them with what came of each.
            ConfigError: A setting does not fit.
        """

    @overload
    def producer(
        self,
        *,
        acks: Literal["all", 0, 1] = "all",
        compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = "none",
        compression_level: int | None = None,
        linger: float = 0.005,
        batch_size: int | str = "64 KiB",
        buffer: int | str = "64 MiB",
        max_request_size: int | str = "1 MiB",
        send_timeout: float = 60.0,
        delivery_timeout: float = 120.0,
        idempotence: bool | None = None,
        partitioner: Literal["keyed", "sticky", "random", "roundrobin"] | _Choice = "keyed",
        audit: str | None = None,
        audit_window: float = 600.0,
        key: _Serializer[_KeySent] | None = None,
        value: _Serializer[_Sent] | None = None,
        encoding: Literal["utf-8"],
        config: _Config | None = None,
    ) -> Producer[_Sent | str, _KeySent | str]:
        """The same as below, and texts are sent as well."""

    @overload
    def producer(
        self,
        *,
        acks: Literal["all", 0, 1] = "all",
        compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = "none",
        compression_level: int | None = None,
        linger: float = 0.005,
        batch_size: int | str = "64 KiB",
        buffer: int | str = "64 MiB",
        max_request_size: int | str = "1 MiB",
        send_timeout: float = 60.0,
        delivery_timeout: float = 120.0,
        idempotence: bool | None = None,
        partitioner: Literal["keyed", "sticky", "random", "roundrobin"] | _Choice = "keyed",
        audit: str | None = None,
        audit_window: float = 600.0,
        key: _Serializer[_KeySent] | None = None,
        value: _Serializer[_Sent] | None = None,
        encoding: None = None,
        config: _Config | None = None,
    ) -> Producer[_Sent, _KeySent]:
        """Makes a producer.

        Args:
            acks: When a record counts as delivered: flushed by all in-sync replicas, by the leader,
                or never known.
            compression: How batches are packed.
            compression_level: In the codec's own scale.
            linger: Seconds that a batch waits for more records; less than ``delivery_timeout``.
            batch_size: Bytes at which a batch is sent at once. One that is too large for its topic
                is split, and those of its partition are smaller from then on.
            buffer: Bytes that may be on their way; beyond, ``send`` waits.
            max_request_size: Bytes above which a record is refused.
            send_timeout: Seconds that ``send`` may wait for room, or for its topic to be found.
            delivery_timeout: Seconds for which delivery of a record is tried.
            idempotence: Whether retries are stored once; ``None`` is "with acks='all'".
            partitioner: Who chooses partitions: the key's hash (without one, records stay
                together until a batch is full), never the key, any, one after another; or a
                callable of topic, key, value and the number of partitions.
            audit: A name under which delivered records are counted; the counts are published to the
                topic ``streamlog.audit`` every ten seconds and by ``flush``.
            audit_window: Seconds of the records' times that are counted together.
            key: Makes bytes of the keys that are sent; texts are encoded as UTF-8.
            value: Makes bytes of the values that are sent; None stays a tombstone.
            encoding: How a ``str`` is sent as a key, a value or a header; without it, only bytes
                are sent.
            config: Other settings of a producer under Kafka's names.

        Raises:
            ConfigError: A setting does not fit, or contradicts another.

        Example:
            >>> with client.producer(compression="zstd", value=json.dumps) as producer:
            ...     ticket = producer.send("orders", {"id": 3}, key=b"ada")
            >>> ticket.result().offset
            3
        """

    @overload
    def consumer(
        self,
        topics: str | Sequence[str],
        *,
        group: str | Broadcast | None = None,
        commit: Literal["processed", "received", "manual"] = "processed",
        commit_interval: float = 1.0,
        start: _Start = "earliest",
        on_out_of_range: Literal["earliest", "latest", "error"] = "earliest",
        key: _Decoder[_K] | None = None,
        value: _Decoder[_V] | None = None,
        tombstones: Literal["skip"],
        on_error: Literal["raise", "skip"] | DeadLetters = "raise",
        on_assign: _Changed | None = None,
        on_revoke: _Changed | None = None,
        stop: _Stop | None = None,
        signals: bool = False,
        buffer: int | str = "24 MiB",
        fetch_bytes: int | str = "8 MiB",
        fetch_wait: float = 0.5,
        create_topics: bool = False,
        config: _Config | None = None,
    ) -> Consumer[_V, _K | None]:
        """The same as below, without the values that are None."""

    @overload
    def consumer(
        self,
        topics: str | Sequence[str],
        *,
        group: str | Broadcast | None = None,
        commit: Literal["processed", "received", "manual"] = "processed",
        commit_interval: float = 1.0,
        start: _Start = "earliest",
        on_out_of_range: Literal["earliest", "latest", "error"] = "earliest",
        key: _Decoder[_K] | None = None,
        value: _Decoder[_V] | None = None,
        tombstones: Literal["keep"] = "keep",
        on_error: Literal["raise", "skip"] | DeadLetters = "raise",
        on_assign: _Changed | None = None,
        on_revoke: _Changed | None = None,
        stop: _Stop | None = None,
        signals: bool = False,
        buffer: int | str = "24 MiB",
        fetch_bytes: int | str = "8 MiB",
        fetch_wait: float = 0.5,
        create_topics: bool = False,
        config: _Config | None = None,
    ) -> Consumer[_V | None, _K | None]:
        """Makes a consumer of one topic or several.

        Args:
            topics: The topics' names.
            group: Members of a group share the partitions, and go on where the group stopped.
                Without one it reads all, and its positions are its own. With BROADCAST it does
                the same, from now on unless ``start`` says otherwise.
            commit: When a message counts as done: once the next is asked for, once it is given
                out, or when ``commit`` is called.
            commit_interval: Seconds after which what is done is stored; closing does it too.
            start: Where to begin: an end of the log, an offset, a time, or a timedelta from now.
            on_out_of_range: What to do when the log does not have the position (any more): go on
                at one of its ends, or raise OffsetOutOfRange.
            key: Makes a message's key of its bytes.
            value: Makes a message's value of its bytes; tombstones stay None.
            tombstones: Whether messages without a value are given out or passed over; those that
                are passed over count as done. ``arrow`` has them in any case.
            on_error: What to do with a message that these cannot decode: ``"raise"`` DecodeError,
                ``"skip"`` it, or publish it as it is to the topic of ``DeadLetters("TOPIC")``,
                with headers that tell where it was and what was wrong. It counts as done then.
            on_assign: Called with the partitions that became this member's, by the thread that
                reads, before their first message.
            on_revoke: Called so with those that were its own, after they were shared out anew.
            stop: An event that ends the loop after the message in hand, and a wait within a second.
            signals: Whether SIGTERM ends the loop after the message in hand.
            buffer: Bytes that are fetched ahead while the program works.
            fetch_bytes: Bytes that one answer may have.
            fetch_wait: Seconds that a broker waits for new records before it answers.
            create_topics: Whether brokers may create a topic that does not exist.
            config: Other settings of a consumer under Kafka's names.

        Raises:
            TopicNotFound: There is no such topic; its ``nearest`` is the name that may be meant.
            ConfigError: A setting does not fit, or contradicts another.

        Example:
            >>> with client.consumer("orders", group="billing", value=json.loads) as consumer:
            ...     for message in consumer:
            ...         print(message.key, message.value)
            b'ada' {'id': 0}
            b'grace' {'id': 1}
            b'ada' {'id': 2}
        """

    def topic(self, name: str) -> Topic:
        """The topic of this name; no broker is asked yet.

        Example:
            >>> [message.offset for message in client.topic("orders").read()]
            [0, 1, 2]
        """

    def on_event(self, callback: _Listener) -> _Listener:
        """Calls a function with each event of the connections, on a thread of its own.

        Events are objects of ``streamlog.events``: all brokers were lost, one was reached again, a
        quota delayed an answer, a group was rebalanced. No thread of the program and no connection
        waits for the function; of events that it cannot keep up with, 1024 wait and others are
        dropped. It is called until the client is closed, and not in a child forked off.

        Returns:
            The function, so that it can be decorated.

        Raises:
            ConfigError: It cannot be called.

        Example:
            >>> @client.on_event
            ... def seen(event):
            ...     print(event)
            >>> seen(streamlog.events.Lost("127.0.0.1:9092", "it hung up"))
            Lost(address='127.0.0.1:9092', reason='it hung up')
        """

    def stats(self) -> ClientStats:
        """Returns the figures of its connections; no broker is asked.

        Example:
            >>> client.stats().is_lost, client.stats().losses
            (False, 0)
        """

    @property
    def admin(self) -> Admin:
        """Administration of the cluster.

        Example:
            >>> client.admin.topics()
            ['orders']
        """

    def close(self) -> None:
        """Ends everything that was made from this client. Doing it again does nothing.

        Example:
            >>> client.close()
            >>> client.admin.topics()
            Traceback (most recent call last):
            streamlog.errors.Closed: ...
        """

    def __enter__(self) -> Self:
        """The client itself."""

    def __exit__(self, _kind: object, _error: object, _trace: object, /) -> None:
        """Closes it."""

    def __getnewargs_ex__(self) -> tuple[tuple[()], dict[str, Any]]:
        """The settings."""

@final
class Broker:
    """A broker in this process: for tests, and for programs that bring their own log.

    It listens on a free port of the loopback interface, so that several run side by side, and any
    Kafka client can use it. It never ends the process: when its disk fails, it stops, and ``close``
    says why. It ends with its block, with its last user, or with the program.

    Example:
        >>> with streamlog.Broker(num_partitions=4) as broker, broker.connect() as client:
        ...     client.producer().send("events", b"hi").result().topic
        'events'
    """

    def __new__(
        cls,
        data_dir: str | PathLike[str] | None = None,
        *,
        listen: str = "127.0.0.1:0",
        advertise: str | None = None,
        config: _Config | None = None,
        **settings: str | float,
    ) -> Self:
        """Starts a broker, and returns once it answers.

        Args:
            data_dir: Where everything is kept; if omitted, a temporary folder that is removed in
                the end.
            listen: Its address; port 0 takes any free one.
            advertise: What clients are told to connect to; if omitted, what each of them reached.
            config: Settings of a broker under Kafka's names.
            settings: The same with underscores for dots, as in ``num_partitions=4``.

        Raises:
            ConfigError: A setting does not fit; the nearest name is offered for an unknown one.
            StreamlogError: The address is taken, or the data directory cannot be used.
        """

    @property
    def address(self) -> str:
        """Where it listens, as ``"127.0.0.1:40123"``.

        Example:
            >>> broker.address
            '127.0.0.1:...'
        """

    @property
    def bootstrap(self) -> str:
        """The same, under the name that clients have for it.

        Example:
            >>> broker.bootstrap == broker.address
            True
        """

    @property
    def port(self) -> int:
        """The port of it.

        Example:
            >>> broker.port > 0
            True
        """

    @property
    def data_dir(self) -> Path:
        """Where its records and metadata are.

        Example:
            >>> (broker.data_dir / "orders-0").is_dir()
            True
        """

    @property
    def is_running(self) -> bool:
        """Whether it answers: it was not closed, and its disk has not failed.

        Example:
            >>> broker.is_running
            True
        """

    def connect(
        self,
        *,
        client_id: str = "streamlog",
        timeout: float = 10.0,
        config: _Config | None = None,
    ) -> Client:
        """A new client of this broker, as ``streamlog.connect`` makes it.

        Example:
            >>> broker.connect(client_id="billing", timeout=5.0).admin.topics()
            ['orders']
        """

    def close(self) -> None:
        """Flushes everything and stops it. Doing it again does nothing.

        Raises:
            StreamlogError: Its disk had failed, or fails now; the message says how.

        Example:
            >>> broker.close()
            >>> broker.is_running
            False
        """

    def __enter__(self) -> Self:
        """The broker itself."""

    def __exit__(self, _kind: object, _error: object, _trace: object, /) -> None:
        """Closes it."""
