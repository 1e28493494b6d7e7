"""What calls can end with. All of it can be pickled, and caught as ``StreamlogError``.

Arguments after the message are attributes; they have defaults so that a pickled error can be made
again from its message before its attributes are set.
"""

from __future__ import annotations

# Checkers of types know this name; `typing` itself would cost a command its quick start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamlog._core.reading import Message

__all__ = [
    "AuthenticationError",
    "AuthorizationError",
    "BrokerError",
    "Closed",
    "ConfigError",
    "ConnectError",
    "DecodeError",
    "DeliveryError",
    "FencedError",
    "ForkError",
    "MessageTooLarge",
    "MissingExtra",
    "OffsetOutOfRange",
    "RequestTimeout",
    "StreamlogError",
    "TopicExists",
    "TopicNotFound",
]


class StreamlogError(Exception):
    """The root of the tree.

    Example:
        >>> try:
        ...     client.topic("invoices").describe()
        ... except streamlog.StreamlogError as error:
        ...     type(error).__name__
        'TopicNotFound'
    """


class ConfigError(StreamlogError, ValueError):
    """A setting or an argument does not fit; the message names it and what would.

    Example:
        >>> client.producer(config={"linger.mss": 5})
        Traceback (most recent call last):
        streamlog.errors.ConfigError: ...linger.mss...
    """


class MissingExtra(StreamlogError, ImportError):
    """A package is missing that only some calls need; the message says what to install."""


class ConnectError(StreamlogError, ConnectionError):
    """No broker could be talked to.

    Example:
        >>> try:
        ...     streamlog.connect("127.0.0.1:1", timeout=1.0)
        ... except streamlog.ConnectError as error:
        ...     [address for address, reason in error.tried]
        ['127.0.0.1:1']
    """

    tried: list[tuple[str, str]]
    """Every address, and what came of trying it."""

    def __init__(self, message: str, tried: Sequence[tuple[str, str]] = ()) -> None:
        """Keeps what was tried."""
        super().__init__(message)
        self.tried = list(tried)


class RequestTimeout(StreamlogError, TimeoutError):
    """The time of a call was over before its work.

    Example:
        >>> impatient = broker.connect(timeout=1.0)
        >>> broker.close()
        >>> try:
        ...     impatient.admin.topics()
        ... except streamlog.RequestTimeout as error:
        ...     error.operation
        'listing topics'
    """

    operation: str
    """What was being done."""
    elapsed: float
    """For how many seconds."""
    last_error: Exception | None
    """What had stood in the way last."""

    def __init__(
        self,
        message: str,
        operation: str = "",
        elapsed: float = 0.0,
        last_error: Exception | None = None,
    ) -> None:
        """Keeps what was being done, for how long, and what stood in the way."""
        super().__init__(message)
        self.operation = operation
        self.elapsed = elapsed
        self.last_error = last_error


class AuthenticationError(StreamlogError):
    """The broker does not know who this is."""


class AuthorizationError(StreamlogError, PermissionError):
    """The broker knows who this is, and that it may not."""


class TopicNotFound(StreamlogError, LookupError):
    """There is no such topic, or no such partition of it.

    Example:
        >>> client.admin.delete_topic("invoices")
        Traceback (most recent call last):
        streamlog.errors.TopicNotFound: ...
    """

    topic: str
    """The name that was asked for, as ``"orders"`` or ``"orders-3"``."""
    nearest: str | None
    """The topic whose name is nearest to it, if one is near."""

    def __init__(self, message: str, topic: str = "", nearest: str | None = None) -> None:
        """Keeps the name, and the nearest one."""
        super().__init__(message)
        self.topic = topic
        self.nearest = nearest


class TopicExists(StreamlogError):
    """A topic of this name is there already.

    Example:
        >>> client.admin.create_topic("orders")
        Traceback (most recent call last):
        streamlog.errors.TopicExists: ...
    """


class OffsetOutOfRange(StreamlogError, LookupError):
    """The position lies outside the log: its records were deleted, or never written.

    Example:
        >>> try:
        ...     next(client.consumer("orders", start=1000, on_out_of_range="error"))
        ... except streamlog.OffsetOutOfRange as error:
        ...     error.requested, error.earliest, error.latest
        (1000, 0, 3)
    """

    requested: int
    """The position asked for."""
    earliest: int
    """The first offset that can be read."""
    latest: int
    """The end of what can be read."""

    def __init__(
        self, message: str, requested: int = -1, earliest: int = -1, latest: int = -1
    ) -> None:
        """Keeps the position and the bounds of the log."""
        super().__init__(message)
        self.requested = requested
        self.earliest = earliest
        self.latest = latest


class MessageTooLarge(StreamlogError, ValueError):
    """A record is larger than allowed, or the batch that it was sent in.

    Example:
        >>> try:
        ...     client.producer().send("orders", bytes(2_000_000))
        ... except streamlog.MessageTooLarge as error:
        ...     error.limit
        1048576
    """

    size: int
    """Bytes of the record, or of the batch that the broker refused."""
    limit: int | None
    """The most that the producer takes; none when it was the broker that refused."""

    def __init__(self, message: str, size: int = 0, limit: int | None = None) -> None:
        """Keeps the size and the limit, in bytes."""
        super().__init__(message)
        self.size = size
        self.limit = limit


class DecodeError(StreamlogError):
    """Bytes could not be turned into the value they stand for; the decoder's error is the cause.

    Example:
        >>> try:
        ...     next(client.consumer("orders", value=int))
        ... except streamlog.DecodeError as error:
        ...     error.message.offset, error.message.value
        (0, b'{"id": 0}')
    """

    message: Message[bytes | None] | None
    """The message as it was read, not decoded."""

    def __init__(self, text: str, message: Message[bytes | None] | None = None) -> None:
        """Keeps the message."""
        super().__init__(text)
        self.message = message


class DeliveryError(StreamlogError):
    """Records were not delivered, and nobody had asked their tickets.

    Example:
        >>> client.admin.set_settings({"max.message.bytes": 100}, topic="orders")
        >>> try:
        ...     with client.producer() as producer:
        ...         ticket = producer.send("orders", bytes(1000))
        ... except streamlog.DeliveryError as error:
        ...     [(topic, partition, count) for topic, partition, count, why in error.failures]
        [('orders', 0, 1)]
    """

    failures: list[tuple[str, int, int, Exception]]
    """The first failures, one for each batch as it was sent last: topic, partition, how many
    records, and why."""
    unlisted: int
    """Records that failed beyond those."""

    def __init__(
        self,
        message: str,
        failures: Sequence[tuple[str, int, int, Exception]] = (),
        unlisted: int = 0,
    ) -> None:
        """Keeps the failures."""
        super().__init__(message)
        self.failures = list(failures)
        self.unlisted = unlisted


class FencedError(StreamlogError):
    """Another process took over the identity of this producer or member."""


class Closed(StreamlogError):
    """The client, producer or consumer was closed.

    Example:
        >>> client.close()
        >>> client.topic("orders").describe()
        Traceback (most recent call last):
        streamlog.errors.Closed: ...
    """


class ForkError(Closed):
    """The client belongs to the process this one was forked from: connect anew."""


class BrokerError(StreamlogError):
    """A broker refused, for a reason without a class of its own.

    Example:
        >>> try:
        ...     client.admin.group("nobody").delete()
        ... except streamlog.BrokerError as error:
        ...     error.name, error.retriable
        ('GROUP_ID_NOT_FOUND', False)
    """

    code: int
    """Kafka's number for it."""
    name: str
    """Kafka's name for it."""
    retriable: bool
    """Whether the same request may succeed later."""

    def __init__(
        self, message: str, code: int = -1, name: str = "", retriable: bool = False
    ) -> None:
        """Keeps Kafka's number and name."""
        super().__init__(message)
        self.code = code
        self.name = name
        self.retriable = retriable
