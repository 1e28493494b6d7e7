"""Driver of kafka-python."""

import sys
import time

import kafka
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka import errors as kafka_errors

from interop.drivers.python.attributes import record_of, refusal
from interop.drivers.python.serving import Foreign, Start, Verbs, serve, unsupported
from interop.support.records import Json, Record

WAIT_SECONDS = 20
KINDS = {"RecordTooLargeError": "too_large", "RebalanceInProgressError": "rebalancing"}


class KafkaPython(Verbs):
    """The verbs, in terms of kafka-python."""

    def __init__(self, address: str) -> None:
        """Connects when it is first needed."""
        self.address = address
        self.reader: Foreign = None
        self.member: Foreign = None
        self.partition = TopicPartition("", 0)
        self.given: dict[int, int] = {}

    def hello(self) -> Json:
        """Name and version."""
        return {"client": "kafka-python", "version": kafka.__version__}

    def create(self, topic: str, partitions: int, config: dict[str, str]) -> None:
        """Creates a topic."""
        with KafkaAdminClient(bootstrap_servers=self.address) as admin:
            new = {"num_partitions": partitions, "replication_factor": 1, "configs": config}
            admin.create_topics({topic: new})

    def delete(self, topic: str) -> None:
        """Deletes a topic."""
        with KafkaAdminClient(bootstrap_servers=self.address) as admin:
            admin.delete_topics([topic])

    def produce(
        self, topic: str, records: list[Record], *, codec: str, acks: str, idempotent: bool
    ) -> list[int | None]:
        """Produces with a producer of its own."""
        producer = KafkaProducer(
            bootstrap_servers=self.address,
            compression_type=None if codec == "none" else codec,
            acks=acks if acks == "all" else int(acks),
            enable_idempotence=idempotent,
            max_request_size=8 << 20,
            # Else it waits a minute for a topic to appear.
            max_block_ms=15_000,
        )
        try:
            sent = [
                producer.send(
                    topic,
                    record.value,
                    record.key,
                    list(record.headers),
                    record.partition,
                    record.timestamp,
                )
                for record in records
            ]
            producer.flush(WAIT_SECONDS)
            told = [future.get(WAIT_SECONDS).offset for future in sent]
        except kafka_errors.KafkaTimeoutError as error:
            if "update metadata" not in str(error):
                raise refusal(error, KINDS) from error
            raise unsupported(
                f"other words for a topic that does not exist than {error}"
            ) from error
        except TypeError as error:
            raise unsupported(f"such headers: {error}") from error
        except kafka_errors.KafkaError as error:
            raise refusal(error, KINDS) from error
        finally:
            producer.close()
        return [None if acks == "0" else offset for offset in told]

    def open(self, topic: str, partition: int, start: Start) -> None:
        """Assigns one partition, at a resolved offset."""
        if self.reader is not None:
            self.reader.close()
        self.reader = KafkaConsumer(bootstrap_servers=self.address, auto_offset_reset="none")
        self.partition = TopicPartition(topic, partition)
        self.reader.assign([self.partition])
        match start:
            case "start":
                offset = self.reader.beginning_offsets([self.partition])[self.partition]
            case "end":
                offset = self.reader.end_offsets([self.partition])[self.partition]
            case {"offset": int(offset)}:
                pass
            case {"time": int(time_ms)}:
                found = self.reader.offsets_for_times({self.partition: time_ms})
                offset = found[self.partition].offset
        self.reader.seek(self.partition, offset)

    def read(self, count: int, seconds: float) -> list[Record]:
        """Reads on."""
        return consume(self.reader, count, seconds)

    def seek(self, offset: int) -> None:
        """Goes elsewhere."""
        self.reader.seek(self.partition, offset)

    def join(self, group: str, topic: str, session_ms: int) -> None:
        """Subscribes as a member."""
        self.member = KafkaConsumer(
            topic,
            bootstrap_servers=self.address,
            group_id=group,
            session_timeout_ms=session_ms,
            heartbeat_interval_ms=session_ms // 6,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        self.given = {}

    def poll(self, count: int, seconds: float) -> tuple[list[Record], list[int]]:
        """Reads as a member."""
        records = consume(self.member, count, seconds)
        self.given |= {record.partition: (record.offset or 0) + 1 for record in records}
        return records, [partition.partition for partition in self.member.assignment()]

    def commit(self) -> None:
        """Commits what was given out."""
        offsets = {
            mine: OffsetAndMetadata(self.given[mine.partition], "", -1)
            for mine in self.member.assignment()
            if mine.partition in self.given
        }
        try:
            self.member.commit(offsets)
        except kafka_errors.KafkaError as error:
            raise refusal(error, KINDS) from error

    def leave(self) -> None:
        """Closes the member."""
        self.member.close(autocommit=False)


def consume(consumer: Foreign, count: int, seconds: float) -> list[Record]:
    """Up to so many records within the time."""
    records: list[Record] = []
    deadline = time.monotonic() + seconds
    while len(records) < count and (left := deadline - time.monotonic()) > 0:
        try:
            found = consumer.poll(int(left * 1000), max_records=count - len(records))
        except kafka_errors.KafkaError as error:
            raise refusal(error, KINDS) from error
        records += [record_of(message) for messages in found.values() for message in messages]
    return records


if __name__ == "__main__":
    serve(KafkaPython(sys.argv[1]))
