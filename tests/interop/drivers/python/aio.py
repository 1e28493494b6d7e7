"""Driver of aiokafka: the verbs run on an event loop that lives in a thread of its own."""

import asyncio
import sys
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

import aiokafka
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka import errors as aiokafka_errors
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from interop.drivers.python.attributes import record_of, refusal
from interop.drivers.python.serving import Foreign, Start, Verbs, serve
from interop.support.records import Json, Record

WAIT_SECONDS = 20
KINDS = {"IllegalStateError": "rebalancing"}
T = TypeVar("T")


class Aiokafka(Verbs):
    """The verbs, in terms of aiokafka."""

    def __init__(self, address: str) -> None:
        """Starts the loop, so that heartbeats go on between the verbs."""
        self.address = address
        self.reader: Foreign = None
        self.member: Foreign = None
        self.partition = TopicPartition("", 0)
        self.given: dict[int, int] = {}
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs it on the loop."""
        try:
            return asyncio.run_coroutine_threadsafe(work, self.loop).result()
        except aiokafka_errors.KafkaError as error:
            raise refusal(error, KINDS) from error

    def hello(self) -> Json:
        """Name and version."""
        return {"client": "aiokafka", "version": aiokafka.__version__}

    def create(self, topic: str, partitions: int, config: dict[str, str]) -> None:
        """Creates a topic."""

        async def work() -> None:
            new = NewTopic(topic, partitions, 1, topic_configs=config)
            admin = AIOKafkaAdminClient(bootstrap_servers=self.address)
            await admin.start()
            await admin.create_topics([new])
            await admin.close()

        self.wait(work())

    def delete(self, topic: str) -> None:
        """Deletes a topic."""

        async def work() -> None:
            admin = AIOKafkaAdminClient(bootstrap_servers=self.address)
            await admin.start()
            await admin.delete_topics([topic])
            await admin.close()

        self.wait(work())

    def produce(
        self, topic: str, records: list[Record], *, codec: str, acks: str, idempotent: bool
    ) -> list[int | None]:
        """Produces with a producer of its own."""

        async def work() -> list[int | None]:
            settings = {
                "compression_type": None if codec == "none" else codec,
                "acks": acks if acks == "all" else int(acks),
                "enable_idempotence": idempotent,
                "max_request_size": 8 << 20,
                # Else it asks for a topic until forty seconds are over.
                "request_timeout_ms": 5000,
            }
            async with AIOKafkaProducer(bootstrap_servers=self.address, **settings) as producer:
                sent = [
                    await producer.send(
                        topic,
                        record.value,
                        record.key,
                        record.partition,
                        record.timestamp,
                        list(record.headers),
                    )
                    for record in records
                ]
                told = [await future for future in sent]
            return [None if acks == "0" else metadata.offset for metadata in told]

        return self.wait(work())

    def open(self, topic: str, partition: int, start: Start) -> None:
        """Assigns one partition, at a resolved offset."""
        self.wait(self._open(TopicPartition(topic, partition), start))

    async def _open(self, partition: Foreign, start: Start) -> None:
        if self.reader is not None:
            await self.reader.stop()
        self.reader = AIOKafkaConsumer(bootstrap_servers=self.address, auto_offset_reset="none")
        await self.reader.start()
        self.partition = partition
        self.reader.assign([partition])
        match start:
            case "start":
                offset = (await self.reader.beginning_offsets([partition]))[partition]
            case "end":
                offset = (await self.reader.end_offsets([partition]))[partition]
            case {"offset": int(offset)}:
                pass
            case {"time": int(time_ms)}:
                found = await self.reader.offsets_for_times({partition: time_ms})
                offset = found[partition].offset
        self.reader.seek(partition, offset)

    def read(self, count: int, seconds: float) -> list[Record]:
        """Reads on."""
        return self.wait(self._consume(self.reader, count, seconds))

    def seek(self, offset: int) -> None:
        """Goes elsewhere."""
        self.reader.seek(self.partition, offset)

    def join(self, group: str, topic: str, session_ms: int) -> None:
        """Subscribes as a member."""

        async def work() -> None:
            self.member = AIOKafkaConsumer(
                topic,
                bootstrap_servers=self.address,
                group_id=group,
                session_timeout_ms=session_ms,
                heartbeat_interval_ms=session_ms // 6,
                auto_offset_reset="earliest",
                enable_auto_commit=False,
            )
            await self.member.start()

        self.given = {}
        self.wait(work())

    def poll(self, count: int, seconds: float) -> tuple[list[Record], list[int]]:
        """Reads as a member."""
        records = self.wait(self._consume(self.member, count, seconds))
        self.given |= {record.partition: (record.offset or 0) + 1 for record in records}
        return records, [partition.partition for partition in self.member.assignment()]

    def commit(self) -> None:
        """Commits what was given out."""
        offsets = {
            mine: self.given[mine.partition]
            for mine in self.member.assignment()
            if mine.partition in self.given
        }
        self.wait(self.member.commit(offsets))

    def leave(self) -> None:
        """Stops the member."""
        self.wait(self.member.stop())

    async def _consume(self, consumer: Foreign, count: int, seconds: float) -> list[Record]:
        records: list[Record] = []
        deadline = self.loop.time() + seconds
        while len(records) < count and (left := deadline - self.loop.time()) > 0:
            found = await consumer.getmany(
                timeout_ms=int(left * 1000), max_records=count - len(records)
            )
            records += [record_of(message) for messages in found.values() for message in messages]
        return records


if __name__ == "__main__":
    serve(Aiokafka(sys.argv[1]))
