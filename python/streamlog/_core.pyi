"""The native module. ``mypy.stubtest`` proves that this stub tells the truth.

Durations are seconds, sizes are bytes or texts as ``"64 MiB"``. Every call that waits releases the
interpreter and ends at once when a signal's handler raises, as Ctrl-C's does. ``timeout=None``
waits for as long as the client's own limits allow. In a child forked off every use raises
``ForkError``. ``config={...}`` takes settings under Kafka's names; one that is given as a keyword
too, and one that is unknown, raise ``ConfigError``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Literal, Self, TypeAlias, TypeVar, final

__all__ = [
    "Admin",
    "Bounded",
    "Client",
    "Consumer",
    "Message",
    "Producer",
    "RecordMetadata",
    "Ticket",
    "Topic",
    "UntilEnd",
    "__version__",
    "main",
]

_T = TypeVar("_T")
_Config: TypeAlias = Mapping[str, Any]
_Headers: TypeAlias = Mapping[str, bytes | None] | Iterable[tuple[str, bytes | None]]
_Start: TypeAlias = str | int | datetime | timedelta

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
        config: _Config | None = None,
    ) -> Producer:
        """Makes a producer.

        Args:
            acks: When a record counts as delivered: flushed by all in-sync replicas, by the leader,
                or never known.
            compression: How batches are packed.
            compression_level: In the codec's own scale.
            linger: Seconds that a batch waits for more records.
            batch_size: Bytes at which a batch is sent at once.
            buffer: Bytes that may be on their way; beyond, ``send`` waits.
            max_request_size: Bytes above which a record is refused.
            send_timeout: Seconds that ``send`` may wait for room, or for its topic to be found.
            delivery_timeout: Seconds for which delivery of a record is tried.
            idempotence: Whether retries are stored once; ``None`` is "with acks='all'".
            config: Other settings of a producer under Kafka's names.

        Raises:
            ConfigError: A setting does not fit, or contradicts another.
        """

    def consumer(
        self,
        topics: str | Sequence[str],
        *,
        group: str | None = None,
        commit: Literal["processed", "received", "manual"] = "processed",
        commit_interval: float = 1.0,
        start: _Start = "earliest",
        out_of_range: Literal["earliest", "latest", "none"] = "earliest",
        buffer: int | str = "32 MiB",
        fetch_bytes: int | str = "8 MiB",
        fetch_wait: float = 0.5,
        config: _Config | None = None,
    ) -> Consumer:
        """Makes a consumer of one topic or several.

        Args:
            topics: The topics' names.
            group: Members of a group share the partitions, and go on where the group stopped.
                Without one it reads all, and its positions are its own.
            commit: When a message counts as done: once the next is asked for, once it is given
                out, or when ``commit`` is called.
            commit_interval: Seconds after which what is done is stored; closing does it too.
            start: Where to begin: an end of the log, an offset, a time, or a timedelta from now.
            out_of_range: What to do when the log does not have the position (any more): go on at
                one of its ends, or raise OffsetOutOfRange.
            buffer: Bytes that are fetched ahead while the program works.
            fetch_bytes: Bytes that one answer may have.
            fetch_wait: Seconds that a broker waits for new records before it answers.
            config: Other settings of a consumer under Kafka's names.

        Raises:
            TopicNotFound: There is no such topic, and brokers do not create topics by themselves.
            ConfigError: A setting does not fit.
        """

    def topic(self, name: str) -> Topic:
        """The topic of this name; no broker is asked yet."""

    @property
    def admin(self) -> Admin:
        """Administration of the cluster."""

    def close(self) -> None:
        """Ends everything that was made from this client. Doing it again does nothing."""

    def __enter__(self) -> Self:
        """The client itself."""

    def __exit__(self, _kind: object, _error: object, _trace: object, /) -> None:
        """Closes it."""

    def __getnewargs_ex__(self) -> tuple[tuple[()], dict[str, Any]]:
        """The settings."""

@final
class Producer:
    """Publishes records. May be used by several threads.

    As a context manager it is closed at the end, so that everything is delivered or raised. One
    that nobody holds any more is closed too, and waits; what fails then is only printed.
    """

    def send(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        headers: _Headers | None = None,
        partition: int | None = None,
        timestamp: datetime | int | None = None,
    ) -> Ticket:
        """Hands over a record. Waits only while the buffer is full or the topic not yet known.

        Args:
            topic: Where it goes.
            value: What it says; None is a tombstone.
            key: Records of one key go to one partition, in order.
            headers: Names and values beside it.
            partition: Where it goes within the topic; by the key if omitted.
            timestamp: Its time, milliseconds since 1970 if a number; now if omitted.

        Raises:
            RequestTimeout: There was no room for ``send_timeout`` seconds.
            TopicNotFound: There is no such topic or partition.
            MessageTooLarge: It is larger than ``max_request_size``.
            Closed: The producer was closed.
        """

    def send_all(
        self,
        topic: str,
        items: Iterable[_T],
        *,
        key: Callable[[_T], bytes | str | None] | None = None,
        value: Callable[[_T], bytes | str | None] | None = None,
    ) -> int:
        """Hands over a record for each item, and returns how many.

        Args:
            topic: Where they go.
            items: The values, or what ``key`` and ``value`` make them of.
            key: Makes an item's key; texts are encoded as UTF-8.
            value: Makes an item's value; texts are encoded as UTF-8.

        Raises:
            StreamlogError: As ``send`` does. What was not delivered is raised by ``flush``.
        """

    def flush(self, timeout: float | None = None) -> None:
        """Waits until everything handed over before has been delivered, or has failed.

        Raises:
            DeliveryError: Records failed, and nobody had asked their tickets.
            RequestTimeout: It took longer than ``timeout`` seconds.
        """

    def close(self, timeout: float | None = None) -> None:
        """Takes no more records and flushes. Doing it again does nothing.

        Raises:
            DeliveryError: Records failed, and nobody had asked their tickets.
            RequestTimeout: It took longer than ``timeout`` seconds; what is left is given up.
        """

    def __enter__(self) -> Self:
        """The producer itself."""

    def __exit__(self, _kind: object, error: object, _trace: object, /) -> None:
        """Closes it; an error of the block goes on, with a note about what was not delivered."""

@final
class Ticket:
    """A record on its way."""

    def result(self, timeout: float | None = None) -> RecordMetadata:
        """Waits until the record is delivered, and says where it is.

        Raises:
            RequestTimeout: It took longer than ``timeout`` seconds; the delivery goes on.
            StreamlogError: The reason why it was not delivered.
        """

    def done(self) -> bool:
        """Whether the outcome is known."""

@final
class RecordMetadata:
    """Where a delivered record is."""

    __match_args__: Final = ("topic", "partition", "offset", "timestamp")

    def __new__(cls, topic: str, partition: int, offset: int | None, timestamp_ms: int) -> Self:
        """Only unpickling calls it."""

    @property
    def topic(self) -> str:
        """Its topic."""

    @property
    def partition(self) -> int:
        """Its partition."""

    @property
    def offset(self) -> int | None:
        """Its offset; None with ``acks=0``."""

    @property
    def timestamp(self) -> datetime | None:
        """Its time, in UTC."""

    @property
    def timestamp_ms(self) -> int:
        """Its time in milliseconds since 1970."""

    def __eq__(self, other: object, /) -> bool:
        """Whether all of it is equal."""

    def __hash__(self) -> int:
        """Equal ones have one hash."""

    def __getnewargs__(self) -> tuple[str, int, int | None, int]:
        """What it is made of."""

@final
class Message:
    """A record as it was read. It cannot be changed."""

    __match_args__: Final = (
        "topic",
        "partition",
        "offset",
        "timestamp",
        "key",
        "value",
        "headers",
    )

    def __new__(cls, state: tuple[Any, ...]) -> Self:
        """Only unpickling calls it."""

    @property
    def topic(self) -> str:
        """Its topic."""

    @property
    def partition(self) -> int:
        """Its partition."""

    @property
    def offset(self) -> int:
        """Its place in the partition."""

    @property
    def timestamp(self) -> datetime | None:
        """Its time, in UTC."""

    @property
    def timestamp_ms(self) -> int:
        """Its time in milliseconds since 1970; -1 if it has none."""

    @property
    def key(self) -> bytes | None:
        """Its key."""

    @property
    def value(self) -> bytes | None:
        """Its value; None is a tombstone."""

    @property
    def headers(self) -> tuple[tuple[str, bytes | None], ...]:
        """Its headers in order; a name may occur twice."""

    def __eq__(self, other: object, /) -> bool:
        """Whether all of it is equal."""

    def __hash__(self) -> int:
        """Equal ones have one hash."""

    def __getnewargs__(self) -> tuple[Any]:
        """What it is made of."""

@final
class Consumer:
    """Reads records: an iterator that waits for the next one and never ends by itself.

    ``close``, from any thread or a signal's handler, ends it. Several threads may take from it.
    """

    def __iter__(self) -> Self:
        """The consumer itself."""

    def __next__(self) -> Message:
        """The next message.

        Raises:
            StopIteration: The consumer was closed.
            OffsetOutOfRange: The log does not have the position, with ``out_of_range="none"``.
        """

    def take(self, count: int, *, timeout: float | None = None) -> Bounded:
        """Iterates over at most ``count`` messages, for at most ``timeout`` seconds from now."""

    def until_end(self) -> UntilEnd:
        """Iterates up to the ends that the partitions have now."""

    def seek(self, to: _Start | Mapping[int, _Start] | Mapping[tuple[str, int], _Start]) -> None:
        """Goes on elsewhere: in all partitions, or in those that a mapping names.

        Args:
            to: An end of the log, an offset, a time, a timedelta from now, or a mapping to these
                from partitions, or from pairs of topic and partition.

        Raises:
            ConfigError: The consumer does not read such a partition.
        """

    def positions(self) -> dict[tuple[str, int], int | None]:
        """The offset read next, by topic and partition; None until it is known."""

    def lag(self) -> dict[tuple[str, int], int | None]:
        """Records between position and end by the last answers; None until both are known."""

    def assignment(self) -> list[tuple[str, int]]:
        """The topics and partitions that it reads."""

    def commit(self, message: Message | None = None) -> None:
        """Stores for the group that all up to this message is done, or all that was given out.

        Raises:
            BrokerError: The partition is no longer this member's, or there is no group.
        """

    def close(self) -> None:
        """Ends reading, for all threads; a member leaves its group. Again does nothing."""

    def __enter__(self) -> Self:
        """The consumer itself."""

    def __exit__(self, _kind: object, _error: object, _trace: object, /) -> None:
        """Closes it."""

@final
class Bounded:
    """Iterates over so many messages of a consumer, for so long."""

    def __iter__(self) -> Self:
        """The iterator itself."""

    def __next__(self) -> Message:
        """The next message."""

@final
class UntilEnd:
    """Iterates over the messages of a consumer up to ends that are fixed."""

    def __iter__(self) -> Self:
        """The iterator itself."""

    def __next__(self) -> Message:
        """The next message."""

@final
class Topic:
    """A topic, and where its logs begin and end."""

    @property
    def name(self) -> str:
        """Its name."""

    def partitions(self) -> int:
        """How many partitions it has.

        Raises:
            TopicNotFound: There is no such topic.
        """

    def begin_offsets(self) -> dict[int, int | None]:
        """The first offset of each partition."""

    def end_offsets(self) -> dict[int, int | None]:
        """The offset after the last record of each partition."""

    def offsets_at(self, time: datetime | timedelta) -> dict[int, int | None]:
        """The first offset of that time or later, of each partition; None where there is none."""

@final
class Admin:
    """Administration of a cluster."""

    def create_topic(
        self,
        name: str,
        *,
        partitions: int | None = None,
        replicas: int | None = None,
        retention: timedelta | None = None,
        config: Mapping[str, str | int | float | bool] | None = None,
        exist_ok: bool = False,
    ) -> None:
        """Creates a topic and waits until it can be used.

        Args:
            name: Letters, digits, '.', '_' and '-'.
            partitions: How many; the broker's default if omitted.
            replicas: How many of each; the broker's default if omitted.
            retention: How long records are kept.
            config: Settings of the topic under Kafka's names.
            exist_ok: Whether a topic that is there already is fine as it is.

        Raises:
            TopicExists: There is one already.
            ConfigError: The name or an option does not fit.
            BrokerError: The broker refused.
        """

    def delete_topic(self, name: str, *, missing_ok: bool = False) -> None:
        """Deletes a topic.

        Raises:
            TopicNotFound: There is none, and that is not fine.
        """

    def topics(self, *, internal: bool = False) -> list[str]:
        """The names of all topics; those that brokers keep for themselves only when asked for."""
