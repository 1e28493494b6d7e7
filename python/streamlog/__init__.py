"""A durable, partitioned log that speaks Apache Kafka's wire protocol.

    >>> with client.producer() as producer:
    ...     ticket = producer.send("orders", b"payload", key=b"42")
    >>> with client.consumer("orders", start=3) as consumer:
    ...     for message in consumer:
    ...         print(message.key, message.value)
    b'42' b'payload'

The classes are written in Rust and re-exported here unchanged; their docstrings are in the stubs of
``_core``.
"""

import atexit
import sys

from streamlog._core import Client, __version__
from streamlog._core.admin import Admin, Group
from streamlog._core.arrow import ArrowBatches
from streamlog._core.brokers import Broker, Node
from streamlog._core.producing import Producer, RecordMetadata, Ticket
from streamlog._core.reading import Batch, Consumer, Message, Stream
from streamlog.errors import (
    AuthenticationError,
    AuthorizationError,
    BrokerError,
    Closed,
    ConfigError,
    ConnectError,
    DecodeError,
    DeliveryError,
    FencedError,
    ForkError,
    MessageTooLarge,
    MissingExtra,
    OffsetOutOfRange,
    RecordsLost,
    RequestTimeout,
    StreamlogError,
    TopicExists,
    TopicNotFound,
)

# Type checkers know this name; importing `typing` would slow down the start of every command.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from streamlog import events as events
    from streamlog.groups import BROADCAST
    from streamlog.partition import Partition
    from streamlog.queues.letters import DeadLetters
    from streamlog.queues.work import Delivery, WorkQueue
    from streamlog.topic import Topic

__all__ = [
    "BROADCAST",
    "Admin",
    "ArrowBatches",
    "AuthenticationError",
    "AuthorizationError",
    "Batch",
    "Broker",
    "BrokerError",
    "Client",
    "Closed",
    "ConfigError",
    "ConnectError",
    "Consumer",
    "DeadLetters",
    "DecodeError",
    "Delivery",
    "DeliveryError",
    "FencedError",
    "ForkError",
    "Group",
    "Message",
    "MessageTooLarge",
    "MissingExtra",
    "Node",
    "OffsetOutOfRange",
    "Partition",
    "Producer",
    "RecordMetadata",
    "RecordsLost",
    "RequestTimeout",
    "Stream",
    "StreamlogError",
    "Ticket",
    "Topic",
    "TopicExists",
    "TopicNotFound",
    "WorkQueue",
    "__version__",
    "connect",
]

connect = Client


@atexit.register
def _close_all() -> None:
    """Closes at exit what the program has left open.

    Handlers run in the reverse order of their registration. Registered here, and not by the first
    producer, this one runs after those that the program registers after its imports: they may
    still send and commit.
    """
    if stopping := sys.modules.get("streamlog.stopping"):
        stopping.close_all()


_LOADED_WHEN_USED = {
    "BROADCAST": "streamlog.groups",
    "DeadLetters": "streamlog.queues.letters",
    "Delivery": "streamlog.queues.work",
    "Partition": "streamlog.partition",
    "Topic": "streamlog.topic",
    "WorkQueue": "streamlog.queues.work",
    "events": "streamlog.events",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Imports names that are written in Python on first use."""
        if name not in _LOADED_WHEN_USED:
            raise AttributeError(f"module 'streamlog' has no attribute {name!r}")
        module = __import__(_LOADED_WHEN_USED[name], fromlist=[name])
        # For a submodule, such as `events`, the module itself is the value.
        value = getattr(module, name, module)
        globals()[name] = value
        return value
