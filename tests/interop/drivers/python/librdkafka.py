"""Driver of confluent-kafka, which is librdkafka."""

import sys
import time
from typing import Any

import confluent_kafka
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from interop.drivers.python.serving import Refusal, Start, Verbs, serve
from interop.support.records import Json, Record

Settings = dict[str, str | int | float | bool]
WAIT_SECONDS = 20
KINDS = {
    KafkaError.UNKNOWN_TOPIC_OR_PART: "unknown_topic",
    KafkaError._UNKNOWN_TOPIC: "unknown_topic",
    KafkaError.MSG_SIZE_TOO_LARGE: "too_large",
    KafkaError.OFFSET_OUT_OF_RANGE: "out_of_range",
    KafkaError._AUTO_OFFSET_RESET: "out_of_range",
    KafkaError.ILLEGAL_GENERATION: "rebalancing",
    KafkaError.UNKNOWN_MEMBER_ID: "rebalancing",
    KafkaError.REBALANCE_IN_PROGRESS: "rebalancing",
    KafkaError._TIMED_OUT: "timeout",
}


def refusal(error: KafkaError) -> Refusal:
    """An error in the protocol's words."""
    return Refusal(KINDS.get(error.code(), "other"), error)


def record_of(message: Message) -> Record:
    """A message as a record."""
    headers: Any = message.headers() or []
    partition, offset = message.partition(), message.offset()
    assert partition is not None
    return Record(
        message.key(), message.value(), tuple(headers), partition, message.timestamp()[1], offset
    )


class Librdkafka(Verbs):
    """The verbs, in terms of librdkafka."""

    def __init__(self, address: str) -> None:
        """Connects when it is first needed."""
        self.bootstrap: Settings = {"bootstrap.servers": address}
        self.reader: Consumer | None = None
        self.member: Consumer | None = None
        self.partition = TopicPartition("")
        self.given: dict[int, int] = {}

    def hello(self) -> Json:
        """Name and version."""
        return {"client": "confluent-kafka", "version": confluent_kafka.__version__}

    def create(self, topic: str, partitions: int, config: dict[str, str]) -> None:
        """Creates a topic."""
        admin = AdminClient(self.bootstrap)
        new = NewTopic(topic, partitions, 1, config=config)
        admin.create_topics([new])[topic].result(WAIT_SECONDS)

    def delete(self, topic: str) -> None:
        """Deletes a topic."""
        admin = AdminClient(self.bootstrap)
        admin.delete_topics([topic])[topic].result(WAIT_SECONDS)

    def produce(
        self, topic: str, records: list[Record], *, codec: str, acks: str, idempotent: bool
    ) -> list[int | None]:
        """Produces with a producer of its own."""
        settings = {
            **self.bootstrap,
            "compression.type": codec,
            "acks": acks,
            "enable.idempotence": idempotent,
            "message.max.bytes": 8 << 20,
            # Else it waits half a minute for a topic to appear.
            "topic.metadata.propagation.max.ms": 1000,
        }
        producer = Producer(settings)
        outcomes: list[tuple[KafkaError | None, Message]] = []
        for record in records:
            producer.produce(
                topic,
                record.value,
                record.key,
                record.partition,
                on_delivery=lambda error, message: outcomes.append((error, message)),
                timestamp=record.timestamp or 0,
                headers=list(record.headers),
            )
        if producer.flush(WAIT_SECONDS):
            raise Refusal("timeout", "records were not delivered")
        for error, _ in outcomes:
            if error is not None:
                raise refusal(error)
        told = [message.offset() for _, message in outcomes]
        return [None if acks == "0" else offset for offset in told]

    def open(self, topic: str, partition: int, start: Start) -> None:
        """Assigns one partition, at a resolved offset."""
        if self.reader is not None:
            self.reader.close()
        settings = {**self.bootstrap, "group.id": "unused", "auto.offset.reset": "error"}
        self.reader = Consumer(settings)
        self.partition = TopicPartition(topic, partition)
        low, high = self.reader.get_watermark_offsets(self.partition, WAIT_SECONDS)
        match start:
            case "start":
                offset = low
            case "end":
                offset = high
            case {"offset": int(offset)}:
                pass
            case {"time": int(time_ms)}:
                asked = [TopicPartition(topic, partition, time_ms)]
                offset = self.reader.offsets_for_times(asked, WAIT_SECONDS)[0].offset
        self.reader.assign([TopicPartition(topic, partition, offset)])

    def read(self, count: int, seconds: float) -> list[Record]:
        """Reads on."""
        assert self.reader is not None
        return consume(self.reader, count, seconds)

    def seek(self, offset: int) -> None:
        """Goes elsewhere."""
        assert self.reader is not None
        partition = TopicPartition(self.partition.topic, self.partition.partition, offset)
        self.reader.seek(partition)

    def join(self, group: str, topic: str, session_ms: int) -> None:
        """Subscribes as a member."""
        settings = {
            **self.bootstrap,
            "group.id": group,
            "session.timeout.ms": session_ms,
            "heartbeat.interval.ms": session_ms // 6,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
        self.member = Consumer(settings)
        self.given = {}
        self.member.subscribe([topic])

    def poll(self, count: int, seconds: float) -> tuple[list[Record], list[int]]:
        """Reads as a member."""
        assert self.member is not None
        records = consume(self.member, count, seconds)
        self.given |= {record.partition: (record.offset or 0) + 1 for record in records}
        return records, [partition.partition for partition in self.member.assignment()]

    def commit(self) -> None:
        """Commits what was given out."""
        assert self.member is not None
        mine = self.member.assignment()
        offsets = [
            TopicPartition(p.topic, p.partition, self.given[p.partition])
            for p in mine
            if p.partition in self.given
        ]
        try:
            self.member.commit(offsets=offsets, asynchronous=False)
        except KafkaException as error:
            raise refusal(error.args[0]) from error

    def leave(self) -> None:
        """Closes the member."""
        assert self.member is not None
        self.member.close()


def consume(consumer: Consumer, count: int, seconds: float) -> list[Record]:
    """Up to so many records within the time."""
    records: list[Record] = []
    deadline = time.monotonic() + seconds
    while len(records) < count and (left := deadline - time.monotonic()) > 0:
        message = consumer.poll(left)
        if message is None:
            continue
        if (error := message.error()) is not None:
            raise refusal(error)
        records.append(record_of(message))
    return records


if __name__ == "__main__":
    serve(Librdkafka(sys.argv[1]))
