"""A durable, partitioned log that speaks Apache Kafka's wire protocol.

    client = streamlog.connect("localhost:9092")
    with client.producer() as producer:
        producer.send("orders", b"payload", key=b"42")
    with client.consumer("orders") as consumer:
        for message in consumer:
            print(message.offset, message.value)

The classes are written in Rust and re-exported here as they are; their documentation is the stubs
of ``_core``. Python is written only where it adds something.
"""

from streamlog._core import Broker, Client, __version__
from streamlog._core.admin import Admin, Group
from streamlog._core.producing import Producer, RecordMetadata, Ticket
from streamlog._core.reading import ArrowBatches, Batch, Consumer, Message, Stream
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
    RequestTimeout,
    StreamlogError,
    TopicExists,
    TopicNotFound,
)
from streamlog.groups import BROADCAST
from streamlog.partition import Partition
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
    "DecodeError",
    "DeliveryError",
    "FencedError",
    "ForkError",
    "Group",
    "Message",
    "MessageTooLarge",
    "MissingExtra",
    "OffsetOutOfRange",
    "Partition",
    "Producer",
    "RecordMetadata",
    "RequestTimeout",
    "Stream",
    "StreamlogError",
    "Ticket",
    "Topic",
    "TopicExists",
    "TopicNotFound",
    "__version__",
    "connect",
]

connect = Client
