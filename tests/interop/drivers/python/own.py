"""Driver of the client in this repository."""

import sys
from datetime import UTC, datetime
from typing import Literal, cast

import streamlog
from interop.drivers.python.serving import Refusal, Start, Verbs, serve
from interop.support.records import Json, Record
from streamlog import Consumer, Message

ACKS: dict[str, Literal["all", 0, 1]] = {"all": "all", "0": 0, "1": 1}
Codec = Literal["none", "gzip", "snappy", "lz4", "zstd"]
KINDS: dict[type[Exception], str] = {
    streamlog.TopicNotFound: "unknown_topic",
    streamlog.MessageTooLarge: "too_large",
    streamlog.OffsetOutOfRange: "out_of_range",
    streamlog.RequestTimeout: "timeout",
}
BROKER_KINDS = {
    "MESSAGE_TOO_LARGE": "too_large",
    "ILLEGAL_GENERATION": "rebalancing",
    "UNKNOWN_MEMBER_ID": "rebalancing",
    "REBALANCE_IN_PROGRESS": "rebalancing",
}


def refusal(error: Exception) -> Refusal:
    """An error in the protocol's words."""
    kind = KINDS.get(type(error), "other")
    if isinstance(error, streamlog.BrokerError):
        kind = BROKER_KINDS.get(error.name, "other")
    return Refusal(kind, repr(error))


def record_of(message: Message) -> Record:
    """A message as a record."""
    return Record(
        message.key,
        message.value,
        message.headers,
        message.partition,
        message.timestamp_ms,
        message.offset,
    )


def position(start: Start) -> Literal["earliest", "latest"] | int | datetime:
    """The start position in the client's terms."""
    match start:
        case "start":
            return "earliest"
        case {"offset": int(offset)}:
            return offset
        case {"time": int(time_ms)}:
            return datetime.fromtimestamp(time_ms / 1000, UTC)
        case _:
            return "latest"


class Own(Verbs):
    """The verbs, in terms of streamlog."""

    def __init__(self, address: str) -> None:
        """Connects."""
        self.client = streamlog.connect(address)
        self.reader: Consumer | None = None
        self.member: Consumer | None = None

    def hello(self) -> Json:
        """Name and version."""
        return {"client": "streamlog", "version": streamlog.__version__}

    def create(self, topic: str, partitions: int, config: dict[str, str]) -> None:
        """Creates a topic."""
        self.client.admin.create_topic(topic, partitions=partitions, config=config)

    def delete(self, topic: str) -> None:
        """Deletes a topic."""
        self.client.admin.delete_topic(topic)

    def produce(
        self, topic: str, records: list[Record], *, codec: str, acks: str, idempotent: bool
    ) -> list[int | None]:
        """Produces with a producer of its own."""
        producer = self.client.producer(
            acks=ACKS[acks],
            compression=cast("Codec", codec),
            idempotence=idempotent,
            max_request_size="8 MiB",
            # Else it waits a minute for a topic to appear.
            send_timeout=3.0,
        )
        try:
            with producer:
                tickets = [
                    producer.send(
                        topic,
                        record.value,
                        key=record.key,
                        headers=record.headers,
                        partition=record.partition,
                        timestamp=record.timestamp,
                    )
                    for record in records
                ]
                return [ticket.result().offset for ticket in tickets]
        except streamlog.StreamlogError as error:
            raise refusal(error) from error

    def open(self, topic: str, partition: int, start: Start) -> None:
        """Begins to read; the topics of the matrix that are read without a group have one."""
        assert partition == 0
        if self.reader is not None:
            self.reader.close()
        where = self.client.topic(topic).end_offsets()[0] if start == "end" else position(start)
        assert where is not None
        self.reader = self.client.consumer(topic, start=where, on_out_of_range="error")

    def read(self, count: int, seconds: float) -> list[Record]:
        """Reads on."""
        assert self.reader is not None
        try:
            return [record_of(message) for message in self.reader.take(count, timeout=seconds)]
        except streamlog.StreamlogError as error:
            raise refusal(error) from error

    def seek(self, offset: int) -> None:
        """Goes elsewhere."""
        assert self.reader is not None
        self.reader.seek(offset)

    def join(self, group: str, topic: str, session_ms: int) -> None:
        """Becomes a member."""
        settings = {"session.timeout.ms": session_ms, "heartbeat.interval.ms": session_ms // 6}
        self.member = self.client.consumer(topic, group=group, commit="manual", config=settings)

    def poll(self, count: int, seconds: float) -> tuple[list[Record], list[int]]:
        """Reads as a member."""
        assert self.member is not None
        messages = list(self.member.take(count, timeout=seconds))
        assignment = [partition for _, partition in self.member.assignment()]
        return [record_of(message) for message in messages], assignment

    def commit(self) -> None:
        """Commits what was given out."""
        assert self.member is not None
        try:
            self.member.commit()
        except streamlog.StreamlogError as error:
            raise refusal(error) from error

    def leave(self) -> None:
        """Closes the member."""
        assert self.member is not None
        self.member.close()


if __name__ == "__main__":
    serve(Own(sys.argv[1]))
