"""Exceptions of all calls. All of them can be pickled, and caught as ``StreamlogError``.

Arguments after the message become attributes. They have defaults because unpickling calls the
constructor with the message alone, and sets the attributes afterwards.
"""

from __future__ import annotations

# Type checkers know this name; importing `typing` would slow down the start of every command.
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
    "RecordsLost",
    "RequestTimeout",
    "StreamlogError",
    "TopicExists",
    "TopicNotFound",
]


class StreamlogError(Exception):
    """The base class of all exceptions.

    Example:
        >>> try:
        ...     client.topic("invoices").describe()
        ... except streamlog.StreamlogError as error:
        ...     type(error).__name__
        'TopicNotFound'
    """


class ConfigError(StreamlogError, ValueError):
    """A setting or an argument is invalid; the message names it and the expected values.

    Example:
        >>> client.producer(config={"linger.mss": 5})
        Traceback (most recent call last):
        streamlog.errors.ConfigError: ...linger.mss...
    """


class MissingExtra(StreamlogError, ImportError):
    """An optional package is missing; the message says what to install."""


class ConnectError(StreamlogError, ConnectionError):
    """No broker could be reached.

    Example:
        >>> try:
        ...     streamlog.connect("127.0.0.1:1", timeout=1.0)
        ... except streamlog.ConnectError as error:
        ...     [address for address, reason in error.tried]
        ['127.0.0.1:1']
    """

    tried: list[tuple[str, str]]
    """Every address that was tried, with the reason of its failure."""

    def __init__(self, message: str, tried: Sequence[tuple[str, str]] = ()) -> None:
        """Keeps the addresses that were tried."""
        super().__init__(message)
        self.tried = list(tried)


class RequestTimeout(StreamlogError, TimeoutError):
    """A call timed out.

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
    """The operation that timed out."""
    elapsed: float
    """Its duration in seconds."""
    last_error: Exception | None
    """The last error before the timeout, if any."""

    def __init__(
        self,
        message: str,
        operation: str = "",
        elapsed: float = 0.0,
        last_error: Exception | None = None,
    ) -> None:
        """Keeps the operation, its duration and the last error."""
        super().__init__(message)
        self.operation = operation
        self.elapsed = elapsed
        self.last_error = last_error


class AuthenticationError(StreamlogError):
    """The broker rejected the client's credentials."""


class AuthorizationError(StreamlogError, PermissionError):
    """The client lacks the permission for the operation."""


class TopicNotFound(StreamlogError, LookupError):
    """The topic or partition does not exist.

    Example:
        >>> client.admin.delete_topic("invoices")
        Traceback (most recent call last):
        streamlog.errors.TopicNotFound: ...
    """

    topic: str
    """The requested name, as ``"orders"`` or ``"orders-3"``."""
    nearest: str | None
    """The most similar existing topic name, if there is one."""

    def __init__(self, message: str, topic: str = "", nearest: str | None = None) -> None:
        """Keeps the name, and the most similar one."""
        super().__init__(message)
        self.topic = topic
        self.nearest = nearest


class TopicExists(StreamlogError):
    """A topic of this name already exists.

    Example:
        >>> client.admin.create_topic("orders")
        Traceback (most recent call last):
        streamlog.errors.TopicExists: ...
    """


class OffsetOutOfRange(StreamlogError, LookupError):
    """The position is outside the log: its records were deleted, or not yet written.

    Example:
        >>> try:
        ...     next(client.consumer("orders", start=1000, on_out_of_range="error"))
        ... except streamlog.OffsetOutOfRange as error:
        ...     error.requested, error.earliest, error.latest
        (1000, 0, 3)
    """

    requested: int
    """The requested position."""
    earliest: int
    """The first offset that can be read."""
    latest: int
    """The end of the readable records."""

    def __init__(
        self, message: str, requested: int = -1, earliest: int = -1, latest: int = -1
    ) -> None:
        """Keeps the position and the bounds of the log."""
        super().__init__(message)
        self.requested = requested
        self.earliest = earliest
        self.latest = latest


class RecordsLost(StreamlogError):
    """Records are lost: an operator elected a leader that lacked them.

    A consumer that may have read such records raises this once, and continues at the next call.
    Discard all results of records of the partition from `offset` on that were received before.
    """

    topic: str
    """The topic."""
    partition: int
    """The partition."""
    offset: int
    """The first offset whose record is lost; another record may have been written at it since."""
    position: int
    """The position of the consumer when it learnt of the loss."""
    resumed: int
    """The position at which the consumer continues."""

    def __init__(
        self,
        message: str,
        topic: str = "",
        partition: int = -1,
        *offsets: int,
    ) -> None:
        """Keeps the partition, and the offsets of the loss and of both positions."""
        super().__init__(message)
        self.topic = topic
        self.partition = partition
        self.offset, self.position, self.resumed = offsets or (-1, -1, -1)


class MessageTooLarge(StreamlogError, ValueError):
    """A record, or the batch that contains it, exceeds the size limit.

    Example:
        >>> try:
        ...     client.producer().send("orders", bytes(2_000_000))
        ... except streamlog.MessageTooLarge as error:
        ...     error.limit
        1048576
    """

    size: int
    """The size in bytes of a batch with this record alone."""
    limit: int | None
    """The limit of the producer; None if the broker refused the batch."""

    def __init__(self, message: str, size: int = 0, limit: int | None = None) -> None:
        """Keeps the size and the limit, in bytes."""
        super().__init__(message)
        self.size = size
        self.limit = limit


class DecodeError(StreamlogError):
    """A key or value could not be decoded; the decoder's error is the cause.

    Example:
        >>> try:
        ...     next(client.consumer("orders", value=int))
        ... except streamlog.DecodeError as error:
        ...     error.message.offset, error.message.value
        (0, b'{"id": 0}')
    """

    message: Message[bytes | None] | None
    """The message with its raw key and value."""

    def __init__(self, text: str, message: Message[bytes | None] | None = None) -> None:
        """Keeps the message."""
        super().__init__(text)
        self.message = message


class DeliveryError(StreamlogError):
    """Records were not delivered, and their tickets were not waited for.

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
    """The first failures, one for each batch: topic, partition (-1 if the record never had one),
    number of records, and error."""
    unlisted: int
    """The number of failed records beyond the listed failures."""

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
    """The object belongs to the parent process: create a new one after a fork."""


class BrokerError(StreamlogError):
    """A broker refused a request for a reason without an exception class of its own.

    Example:
        >>> try:
        ...     client.admin.group("nobody").delete()
        ... except streamlog.BrokerError as error:
        ...     error.name, error.retriable
        ('GROUP_ID_NOT_FOUND', False)
    """

    code: int
    """Kafka's error code."""
    name: str
    """Kafka's name of the error code."""
    retriable: bool
    """True if the same request may succeed later."""

    def __init__(
        self, message: str, code: int = -1, name: str = "", retriable: bool = False
    ) -> None:
        """Keeps Kafka's error code and name."""
        super().__init__(message)
        self.code = code
        self.name = name
        self.retriable = retriable
