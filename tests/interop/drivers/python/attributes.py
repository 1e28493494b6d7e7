"""Code shared by kafka-python and aiokafka: errors by class, messages by attribute."""

from interop.drivers.python.serving import Foreign, Refusal
from interop.support.records import Record

KINDS = {
    "UnknownTopicOrPartitionError": "unknown_topic",
    "MessageSizeTooLargeError": "too_large",
    "OffsetOutOfRangeError": "out_of_range",
    "CommitFailedError": "rebalancing",
    "KafkaTimeoutError": "timeout",
}


def refusal(error: Exception, own: dict[str, str]) -> Refusal:
    """An error in the protocol's words, by the classes that both have or one has of its own."""
    kinds = KINDS | own
    return Refusal(kinds.get(type(error).__name__, "other"), repr(error))


def record_of(message: Foreign) -> Record:
    """A message as a record."""
    return Record(
        message.key,
        message.value,
        tuple(message.headers),
        message.partition,
        message.timestamp,
        message.offset,
    )
