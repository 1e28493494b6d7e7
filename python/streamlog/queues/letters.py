"""Dead letters of consumers."""

from dataclasses import dataclass

__all__ = ["DeadLetters"]


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """A topic for messages that cannot be decoded, as a value of ``on_error=``.

    Example:
        >>> on_error = streamlog.DeadLetters("orders.dead")
        >>> with client.consumer("orders", value=int, on_error=on_error) as consumer:
        ...     list(consumer.until_end())
        []
        >>> [letter.value for letter in client.topic("orders.dead")]
        [b'{"id": 0}', b'{"id": 1}', b'{"id": 2}']
    """

    topic: str
    """The name of the topic."""
