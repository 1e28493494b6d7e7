"""The API of ``streamlog`` for asyncio: the same names, with awaitable calls.

    >>> async with streamlog.aio.connect(broker.address) as client:
    ...     async with client.producer() as producer:
    ...         placed = await producer.send("orders", b"payload", key=b"42")
    ...     async with client.consumer("orders", start=placed.offset) as consumer:
    ...         async for message in consumer.until_end():
    ...             print(message.offset, message.value)
    3 b'payload'

A wait occupies no thread of its own: all waits share the client's thread. Options, errors, messages
and metadata are the same as in ``streamlog``. Calls that do not wait, such as ``seek``, ``pause``
and ``lag``, are not awaited. A client belongs to the event loop in which it was connected.
"""

from streamlog.aio.admin import Admin, Group
from streamlog.aio.batches import Batch
from streamlog.aio.client import Client
from streamlog.aio.consumer import Consumer, Stream
from streamlog.aio.messages import Messages
from streamlog.aio.partition import Partition
from streamlog.aio.producer import Producer
from streamlog.aio.ticket import Ticket
from streamlog.aio.topic import Topic
from streamlog.aio.work import Delivery, WorkQueue

__all__ = [
    "Admin",
    "Batch",
    "Client",
    "Consumer",
    "Delivery",
    "Group",
    "Messages",
    "Partition",
    "Producer",
    "Stream",
    "Ticket",
    "Topic",
    "WorkQueue",
    "connect",
]

connect = Client
