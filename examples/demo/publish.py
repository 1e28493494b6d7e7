"""Publishes the input: a record for each line, keyed by its file."""

from collections.abc import Callable, Iterator

from progress import Progress
from source import Input

from streamlog import Client, Ticket

# Small, so that when half of the input is published, about half of it is stored.
BUFFER = "4 MiB"


def publish(
    client: Client,
    topic: str,
    source: Input,
    progress: Progress,
    at_half: Callable[[], None],
) -> dict[str, int]:
    """Publishes everything and returns the partition of each file.

    `at_half` is called in the middle, while records are in flight.
    """
    tickets: dict[str, Ticket] = {}
    with client.producer(buffer=BUFFER, compression="lz4") as producer:
        for count, (name, number, line) in enumerate(records(source), start=1):
            headers = {"line": str(number).encode()}
            tickets[name] = producer.send(topic, line, key=name.encode(), headers=headers)
            if count == (source.records + 1) // 2:
                at_half()
            progress.advance()
        producer.flush()
        for partition in range(client.topic(topic).partitions()):
            # A record without a value marks the end.
            producer.send(topic, None, partition=partition)
    return {name: ticket.result().partition for name, ticket in tickets.items()}


def records(source: Input) -> Iterator[tuple[str, int, bytes]]:
    """Yields file, line number and line."""
    for name in source.files:
        for number, line in enumerate(source.lines(name), start=1):
            yield name, number, line
