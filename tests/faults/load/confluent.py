"""The load of confluent-kafka: a client that others have written judges the cluster."""

import random
import time
from functools import partial
from typing import Any

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from faults.history.lines import Writer
from faults.history.operations import Assign, End, Outcome, Poll, Record, Seen
from faults.history.outcomes import outcome
from faults.history.payloads import VALUES_PER_PRODUCER, decoded, encoded, key_of
from faults.load.plan import READERS, Plan
from faults.load.worker import Pending, Producing, Worker

GROUP = 25
"""The records of one send."""
OUTSTANDING_MAX = 2_000
RETURN_SECONDS = 60.0

COMMON: dict[str, Any] = {
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 200,
    "retry.backoff.ms": 20,
    "retry.backoff.max.ms": 200,
    "socket.timeout.ms": 5_000,
    "socket.connection.setup.timeout.ms": 3_000,
    "topic.metadata.refresh.interval.ms": 2_000,
    # Below the topic's limit: a larger batch would be refused as a whole.
    "batch.size": 100_000,
    "log_level": 0,
}
IDEMPOTENT: dict[str, Any] = {"enable.idempotence": True}
# Without idempotence, only a single request in flight keeps the order.
REPEATING: dict[str, Any] = {"acks": "all", "max.in.flight": 1}
ONCE: dict[str, Any] = {"acks": "all", "max.in.flight": 1, "retries": 0}
KINDS = (IDEMPOTENT, IDEMPOTENT, REPEATING, IDEMPOTENT, ONCE, IDEMPOTENT, REPEATING, IDEMPOTENT)


class Sender(Producing):
    """Sends groups of records to one partition after another."""

    def __init__(self, process: int, writer: Writer, plan: Plan) -> None:
        """Sends in the manner that belongs to its number."""
        super().__init__(process, writer)
        self._plan = plan
        self._kind = KINDS[process % len(KINDS)]
        self._numbers = iter(range(process * VALUES_PER_PRODUCER, (process + 1) << 40))
        self._open: set[Pending] = set()
        timeout = {"message.timeout.ms": 60_000, "request.timeout.ms": 5_000, "linger.ms": 5}
        servers = {"bootstrap.servers": plan.bootstrap}
        self._producer = Producer({**COMMON, **timeout, **servers, **self._kind})
        if self._kind is not IDEMPOTENT:
            writer.note_repeating(process)

    def work(self) -> None:
        """Sends at its share of the rate."""
        choice = random.Random(f"{self._plan.seed} {self.process}")
        pause = GROUP * self._plan.producers / self._plan.rate
        while not self.stopping.is_set():
            self._send_group(choice.randrange(self._plan.partitions), choice)
            self._producer.poll(choice.uniform(0, 2 * pause))
            while len(self._producer) > OUTSTANDING_MAX and not self.stopping.is_set():
                self._producer.poll(0.05)
        self._producer.flush(RETURN_SECONDS + 15)
        for pending in self._open:
            pending.abandon()

    def _send_group(self, partition: int, choice: random.Random) -> None:
        values = [next(self._numbers) for _ in range(GROUP)]
        pending = Pending(self, partition, values)
        self._open.add(pending)
        for value in values:
            size = choice.randrange(20, 200)
            self._producer.produce(
                self._plan.topic,
                encoded(value, size),
                key=key_of(value) if self._plan.keyed else None,
                partition=partition,
                on_delivery=partial(self._settle, pending, value),
            )

    def _settle(
        self, pending: Pending, value: int, error: KafkaError | None, message: Message
    ) -> None:
        code = None if error is None else error.code()
        found = outcome(code)
        offset = message.offset() if found is Outcome.OK else None
        pending.settle(Record(value, found, offset, code))
        if pending.is_done:
            self._open.discard(pending)


class Reader(Worker):
    """Reads all partitions from their beginning."""

    def __init__(self, process: int, writer: Writer, plan: Plan) -> None:
        """Reads as a process of its own."""
        super().__init__(process, writer)
        self._plan = plan
        self._consumer = consumer(plan.bootstrap, f"reader-{process}")

    def work(self) -> None:
        """Reads until it is told to stop."""
        self._assign()
        while not self.stopping.is_set():
            poll = polled(self._consumer, self.process)
            if poll.records:
                self.writer.write(poll)
        self._consumer.close()

    def _assign(self) -> None:
        slots = [TopicPartition(self._plan.topic, p, 0) for p in range(self._plan.partitions)]
        self.writer.write(Assign(self.process, time.monotonic_ns()))
        self._consumer.assign(slots)


class Watcher(Worker):
    """Asks for the ends of the partitions."""

    def __init__(self, process: int, writer: Writer, plan: Plan) -> None:
        """Asks as a process of its own."""
        super().__init__(process, writer)
        self._plan = plan
        self._consumer = consumer(plan.bootstrap, f"watcher-{process}")

    def work(self) -> None:
        """Asks for one end after another."""
        while not self.stopping.is_set():
            for partition in range(self._plan.partitions):
                end = asked_end(self._consumer, self.process, self._plan.topic, partition)
                if end is not None:
                    self.writer.write(end)
            self.stopping.wait(0.05)
        self._consumer.close()


def consumer(bootstrap: str, group: str, *, tells_ends: bool = False) -> Consumer:
    """A consumer that begins at the earliest record, and commits nothing."""
    return Consumer(
        {
            **COMMON,
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            # A reset of the position would hide that records are gone.
            "auto.offset.reset": "error",
            "check.crcs": True,
            "fetch.wait.max.ms": 100,
            "fetch.error.backoff.ms": 20,
            "enable.partition.eof": tells_ends,
        }
    )


def polled(client: Consumer, process: int, reached: dict[int, int] | None = None) -> Poll:
    """One poll; with `reached`, a final one, which adds the ends of partitions that it reaches."""
    invoked = time.monotonic_ns()
    messages = client.consume(1_000, timeout=0.1)
    returned = time.monotonic_ns()
    records: list[Seen] = []
    for message in messages:
        error, partition, offset = message.error(), message.partition(), message.offset()
        if error is not None:
            if error.code() == KafkaError._AUTO_OFFSET_RESET:
                raise AssertionError(f"a position is out of range: {error}")
            if error.code() == KafkaError._PARTITION_EOF and reached is not None:
                assert partition is not None
                assert offset is not None
                reached[partition] = offset
            continue
        assert partition is not None
        assert offset is not None
        payload = message.value()
        assert not isinstance(payload, str)
        records.append(Seen(partition, offset, decoded(payload)))
    return Poll(process, invoked, returned, tuple(records), final=reached is not None)


def asked_end(client: Consumer, process: int, topic: str, partition: int) -> End | None:
    """The end of a partition; none if nobody tells it in time."""
    invoked = time.monotonic_ns()
    try:
        found = client.get_watermark_offsets(TopicPartition(topic, partition), timeout=3.0)
    except KafkaException:
        return None
    if found is None:
        return None
    return End(process, partition, invoked, time.monotonic_ns(), found[1])


def workers(plan: Plan, writer: Writer) -> list[Worker]:
    """All threads of a load."""
    senders = range(plan.producers)
    readers = range(plan.producers, plan.producers + READERS)
    last = plan.producers + READERS
    return [
        *(Sender(process, writer, plan) for process in senders),
        *(Reader(process, writer, plan) for process in readers),
        *(Watcher(process, writer, plan) for process in (last, last + 1)),
    ]
