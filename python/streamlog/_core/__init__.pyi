"""The native module; ``mypy.stubtest`` compares this stub with it.

Durations are in seconds, sizes in bytes or texts as ``"64 MiB"``. Every waiting call releases the
interpreter and ends at once when a signal handler raises, as on Ctrl-C. ``timeout=None`` waits for
as long as the client's own limits allow. Any call that contacts a broker may raise ``ConnectError``
or ``RequestTimeout`` when none answers in time, and ``Closed`` after ``close``. In a forked child,
clients and producers reconnect; all other objects belong to the parent and raise ``ForkError``.
``config={...}`` takes settings under Kafka's names; a setting that is also given as a keyword, and
an unknown one, raise ``ConfigError``.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, Self, TypeAlias, final, overload

from typing_extensions import TypeVar

from streamlog._core import (
    admin,
    aio,
    arrow,
    bounded,
    brokers,
    producing,
    reading,
    republishing,
    texts,
)
from streamlog._core.admin import Admin
from streamlog._core.producing import Producer
from streamlog._core.reading import Consumer
from streamlog.arguments.options import Decoder as _Decoder
from streamlog.arguments.options import Serializer as _Serializer
from streamlog.arguments.options import Start as _Start
from streamlog.events import ClientStats, Event
from streamlog.groups import Broadcast
from streamlog.queues.letters import DeadLetters
from streamlog.stopping import Event as _Stop
from streamlog.topic import Topic

__all__ = [
    "Client",
    "__version__",
    "admin",
    "aio",
    "arrow",
    "bounded",
    "brokers",
    "main",
    "producing",
    "reading",
    "republishing",
    "texts",
]

_V = TypeVar("_V", default=bytes)
_K = TypeVar("_K", default=bytes)
_Sent = TypeVar("_Sent", default=bytes | bytearray)
_KeySent = TypeVar("_KeySent", default=bytes | bytearray)
_Config: TypeAlias = Mapping[str, Any]
_Choice: TypeAlias = Callable[[str, bytes | None, bytes | None, int], int]
_Listener = TypeVar("_Listener", bound=Callable[[Event], object])
_Changed: TypeAlias = Callable[[list[tuple[str, int]]], object]

__version__: Final[str]
"""The version of the package and its engine."""

def main(argv: Sequence[str]) -> int:
    """Runs the command line with the arguments after the program's name.

    Returns the exit code: 0 done, 1 failed, 2 wrong usage, others for certain failures. Releases
    the interpreter meanwhile.
    """

@final
class Client:
    """A client of a cluster; ``streamlog.connect`` is another name for it.

    It is pickled as its settings, and reconnects when it is unpickled.

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
        """Connects to the first address that answers.

        Args:
            bootstrap: ``"HOST:PORT"``, several separated by commas, or a list. If omitted,
                the environment variable STREAMLOG_BOOTSTRAP, and then 127.0.0.1:9092.
            client_id: The name of the client in brokers' logs.
            timeout: Seconds that a call without a timeout of its own may take.
            config: Other settings of the connections under Kafka's names.

        Raises:
            ConnectError: No address could be reached; ``tried`` has the error of each.
            ConfigError: A setting is invalid.
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
        """Creates a producer that also sends ``str``, with ``encoding``."""

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
        """Creates a producer.

        Args:
            acks: When a record counts as delivered: once all in-sync replicas have flushed it, once
                the leader has flushed it (1), or once it is sent (0).
            compression: The codec of batches.
            compression_level: The compression level, on the codec's own scale.
            linger: Seconds that a batch waits for more records; less than ``delivery_timeout``.
            batch_size: Bytes at which a batch is sent at once. A batch that is too large for its
                topic is split, and later batches of its partition are smaller.
            buffer: Limit of queued and unacknowledged bytes; when it is reached, ``send`` waits.
            max_request_size: Bytes above which a record is refused.
            send_timeout: Seconds that ``send`` may wait for the buffer or its topic's metadata.
            delivery_timeout: Seconds for which delivery of a record is tried.
            idempotence: True to store retried records once; ``None`` is true with acks='all'.
            partitioner: The choice of partitions: ``"keyed"`` by the key's hash, while records
                without a key fill a batch of one partition, then of another; ``"sticky"`` treats
                all records as if they had no key; ``"random"`` and ``"roundrobin"`` ignore keys
                too, and take a partition at random or in turns. Or a callable of topic, key, value
                and the number of partitions.
            audit: The name under which delivered records are counted; counts are published to the
                topic ``streamlog.audit`` every ten seconds and by ``flush``.
            audit_window: The width in seconds of the time windows in which records are counted.
            key: Serializes keys; texts are encoded as UTF-8.
            value: Serializes values; None stays a tombstone.
            encoding: The encoding of a ``str`` as a key, a value or a header; without it, only
                bytes are accepted.
            config: Other settings of a producer under Kafka's names.

        Raises:
            ConfigError: A setting is invalid, or contradicts another.

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
        """Creates a consumer that skips tombstones, so that no value is None."""

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
        """Creates a consumer of one or several topics.

        Args:
            topics: The names of the topics.
            group: The group: its members share the partitions, and resume where the group stopped.
                Without it the consumer reads all partitions and its positions are not stored. With
                BROADCAST it also starts at the current ends, unless ``start`` is given.
            commit: When a message counts as done: once the next is requested, once it is
                delivered, or when ``commit`` is called.
            commit_interval: Seconds between commits; closing commits too.
            start: The position without a committed offset: an end of the log, an offset, a time, or
                a timedelta from now.
            on_out_of_range: If the position is outside the log: continue at one of its ends, or
                raise OffsetOutOfRange.
            key: Decodes keys.
            value: Decodes values; tombstones stay None.
            tombstones: ``"skip"`` skips messages without a value, and counts them as done.
                ``arrow`` always includes them.
            on_error: The treatment of messages that cannot be decoded: ``"raise"`` DecodeError,
                ``"skip"``, or publish them unchanged to the topic of ``DeadLetters("TOPIC")``, with
                headers for their origin and the error. They count as done then.
            on_assign: Called with newly assigned partitions, by the thread that reads, before their
                first message.
            on_revoke: Called in the same way with the revoked partitions, after a rebalance.
            stop: An event that ends the loop after the current message, or within a second.
            signals: True to end the loop after the current message on SIGTERM.
            buffer: Bytes that are fetched ahead while the program works.
            fetch_bytes: The maximal size of a fetch response in bytes.
            fetch_wait: Seconds that a broker waits for new records before it responds.
            create_topics: True to let brokers create a topic that does not exist.
            config: Other settings of a consumer under Kafka's names.

        Raises:
            TopicNotFound: There is no such topic; ``nearest`` is the most similar name.
            ConfigError: A setting is invalid, or contradicts another.

        Example:
            >>> with client.consumer("orders", group="billing", value=json.loads) as consumer:
            ...     for message in consumer:
            ...         print(message.key, message.value)
            b'ada' {'id': 0}
            b'grace' {'id': 1}
            b'ada' {'id': 2}
        """

    def topic(self, name: str) -> Topic:
        """Returns the topic of this name, without contacting a broker.

        Example:
            >>> [message.offset for message in client.topic("orders").read()]
            [0, 1, 2]
        """

    def on_event(self, callback: _Listener) -> _Listener:
        """Registers a function to be called with each event, on a separate thread.

        Events are objects of ``streamlog.events``: all brokers were lost, a broker was reached
        again, a quota delayed a response, a group was rebalanced. A slow function delays neither
        the program nor the connections; up to 1024 events are queued for it, and further events
        are dropped. It is called until the client is closed, and not in a forked child.

        Returns:
            The function, so that the method can be used as a decorator.

        Raises:
            ConfigError: The callback is not callable.

        Example:
            >>> @client.on_event
            ... def seen(event):
            ...     print(event)
            >>> seen(streamlog.events.Lost("127.0.0.1:9092", "it closed the connection"))
            Lost(address='127.0.0.1:9092', reason='it closed the connection')
        """

    def stats(self) -> ClientStats:
        """Returns the client's statistics, without contacting a broker.

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
        """Closes the client and all objects created from it. Idempotent.

        Producers deliver their records first. Then consumers in groups commit the offsets of the
        messages that were processed, and leave.

        Raises:
            DeliveryError: Records failed, and their tickets were not waited for. The client is
                closed nevertheless.

        Example:
            >>> client.close()
            >>> client.admin.topics()
            Traceback (most recent call last):
            streamlog.errors.Closed: ...
        """

    def __enter__(self) -> Self:
        """The client itself."""

    def __exit__(self, _kind: object, error: object, _trace: object, /) -> None:
        """Closes it; an error of the block propagates, with a note about delivery errors."""

    def __getnewargs_ex__(self) -> tuple[tuple[()], dict[str, Any]]:
        """The settings, for unpickling."""
