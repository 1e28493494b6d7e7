"""Producers and consumers of librdkafka that keep running whatever happens to the broker."""

import random
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

from py.support.broker import until
from py.support.ledger import Rows, Seen, Sent, Slot, value_of

OUTSTANDING_MAX = 300
"""The number of records that a producer has in flight before it waits."""

FINISH_SECONDS = 60.0

IMPATIENT = {
    # Reconnect at once when the broker is back.
    "reconnect.backoff.ms": 10,
    "reconnect.backoff.max.ms": 50,
    "retry.backoff.ms": 10,
    "retry.backoff.max.ms": 50,
    # Otherwise librdkafka drops all metadata while the only broker is away, and waits for a second.
    "metadata.recovery.strategy": "none",
    "log_level": 0,
}
IDEMPOTENT: dict[str, Any] = {"enable.idempotence": True}
# Without idempotence, only a single request in flight keeps the order.
ALL: dict[str, Any] = {"acks": "all", "max.in.flight": 1}
ONE: dict[str, Any] = {"acks": 1, "max.in.flight": 1}


class Worker(ABC):
    """A thread that works until it is told to stop. `check` raises its failure."""

    def __init__(self, name: str) -> None:
        """Creates a thread with this name."""
        self.name = name
        self.stopping = threading.Event()
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def check(self) -> None:
        """Raises the failure of the thread, if there is one."""
        if self.failure is not None:
            message = f"{self.name} failed"
            raise AssertionError(message) from self.failure

    def finish(self) -> None:
        """Tells the thread to stop, and waits for its end."""
        self.stopping.set()
        self._thread.join(2 * FINISH_SECONDS)
        assert not self._thread.is_alive(), f"{self.name} goes on"
        self.check()

    @abstractmethod
    def work(self) -> None:
        """Works until `stopping` is set."""

    def _run(self) -> None:
        try:
            self.work()
        except BaseException as error:
            self.failure = error


class Sender(Worker):
    """Sends numbered records to several partitions, and records their acknowledgements."""

    def __init__(self, name: str, address: str, slots: list[Slot], options: dict[str, Any]) -> None:
        """Sends with these options of librdkafka."""
        super().__init__(name)
        self.slots = slots
        self.acknowledged = 0
        self.sent = Sent(retries_are_known=options.get("enable.idempotence", False))
        # Longer than any run: a timeout on a busy machine would not show an error of the broker.
        common = {"bootstrap.servers": address, "linger.ms": 2, "delivery.timeout.ms": 36_000_000}
        self._producer = Producer({**common, **IMPATIENT, **options})

    def work(self) -> None:
        """Sends bursts until it is told to stop, then waits for every acknowledgement."""
        choice = random.Random(self.name)
        while not self.stopping.is_set():
            for _ in range(choice.randrange(1, 16)):
                self._send(choice.choice(self.slots), choice.randrange(40, 400))
            self._producer.poll(0)
            time.sleep(choice.uniform(0.001, 0.02))
            while len(self._producer) > OUTSTANDING_MAX and not self.stopping.is_set():
                self._producer.poll(0.02)
            self.check()
        assert self._producer.flush(FINISH_SECONDS) == 0, "records are left over"
        self.check()

    def _send(self, slot: Slot, padding: int) -> None:
        number = self.sent.counts[slot]
        self.sent.counts[slot] = number + 1
        topic, partition = slot

        def delivered(error: object, message: Message) -> None:
            if error is None:
                self.acknowledged += 1
                offset = message.offset()
                self.sent.acknowledged[slot][number] = -1 if offset is None else offset
            else:
                self.failure = AssertionError(f"{number} of {slot} was refused: {error}")

        value = value_of(self.name, number, padding)
        self._producer.produce(topic, value, partition=partition, on_delivery=delivered)


class Reader(Worker):
    """Reads partitions from their start, offset by offset, and commits its position."""

    def __init__(self, name: str, address: str, slots: list[Slot]) -> None:
        """Reads only these `slots`."""
        super().__init__(name)
        self.slots = slots
        self.seen = Seen()
        self.ends: dict[Slot, int] = {}
        self._is_committing = False
        self._committed: dict[Slot, int] = dict.fromkeys(slots, 0)
        self._consumer = Consumer(
            {
                "bootstrap.servers": address,
                "group.id": name,
                "enable.auto.commit": False,
                # A reset of the position would be an error in this test.
                "auto.offset.reset": "error",
                "fetch.wait.max.ms": 50,
                "fetch.error.backoff.ms": 10,
                "on_commit": self._note_commit,
                **IMPATIENT,
            }
        )

    def work(self) -> None:
        """Reads until it is told to stop, and then up to `ends`."""
        self._consumer.assign([TopicPartition(*slot, 0) for slot in self.slots])
        rounds = 0
        while not (self.stopping.is_set() and self._is_done()):
            for message in self._consumer.consume(1000, timeout=0.05):
                self._take(message)
            rounds += 1
            if rounds % 8 == 0:
                self._commit()
            if rounds % 64 == 0:
                self._check_committed()
        self._consumer.close()

    def _is_done(self) -> bool:
        return all(len(self.seen.values[slot]) >= end for slot, end in self.ends.items())

    def _take(self, message: Message) -> None:
        error = message.error()
        if error is not None:
            assert error.retriable() or error.code() < 0, f"reading failed: {error}"
            assert error.name() != "_AUTO_OFFSET_RESET", f"its position is gone: {error}"
            return
        topic, partition, value = message.topic(), message.partition(), message.value()
        assert topic is not None
        assert partition is not None
        assert value is not None
        known = self.seen.values[topic, partition]
        offset = message.offset()
        assert offset == len(known), f"offset {offset} of {topic}-{partition} after {len(known)}"
        known.append(hash(value))

    def _commit(self) -> None:
        positions = [
            TopicPartition(*slot, len(values)) for slot, values in self.seen.values.items()
        ]
        # librdkafka retries commits in any order: an earlier one could overwrite a later one.
        if positions and not self._is_committing:
            self._is_committing = True
            self._consumer.commit(offsets=positions, asynchronous=True)

    def _note_commit(self, error: object, partitions: list[TopicPartition]) -> None:
        self._is_committing = False
        if error is not None:
            return
        for partition in partitions:
            if partition.error is None:
                self._committed[partition.topic, partition.partition] = partition.offset

    def _check_committed(self) -> None:
        """Checks that committed offsets survived, whatever happened to the broker since."""
        least = dict(self._committed)
        asked = [TopicPartition(*slot) for slot in self.slots]
        try:
            answered = self._consumer.committed(asked, timeout=1)
        except KafkaException:
            return
        for partition in answered:
            expected = least[partition.topic, partition.partition]
            found = max(partition.offset, 0)
            assert partition.error is not None or found >= expected, (
                f"{expected} was committed for {partition.topic}-{partition.partition}, "
                f"{found} is remembered"
            )


class Load:
    """Senders and readers that work on the same partitions."""

    def __init__(self, senders: list[Sender], readers: list[Reader]) -> None:
        """Starts all of them."""
        self.senders, self.readers = senders, readers
        for worker in self._workers():
            worker.start()

    def _workers(self) -> list[Worker]:
        return [*self.senders, *self.readers]

    def check(self) -> None:
        """Raises the first failure among them."""
        for worker in self._workers():
            worker.check()

    def finish(self, address: str) -> dict[Slot, Rows]:
        """Lets senders deliver and readers read all records; returns the contents of the log."""
        for sender in self.senders:
            sender.finish()
        log = read_all(address, self.readers[0].slots, self.check)
        for reader in self.readers:
            reader.ends = {slot: len(rows) for slot, rows in log.items()}
            reader.finish()
        return log

    def progress(self) -> int:
        """Returns the number of acknowledged records."""
        return sum(sender.acknowledged for sender in self.senders)

    def account(self) -> dict[str, Sent]:
        """The records and acknowledgements of each sender."""
        return {sender.name: sender.sent for sender in self.senders}

    def witnesses(self) -> dict[str, Seen]:
        """The records seen by each reader."""
        return {reader.name: reader.seen for reader in self.readers}


def read_all(address: str, slots: list[Slot], check: Callable[[], None]) -> dict[Slot, Rows]:
    """Returns every record of these partitions."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": "unused", **IMPATIENT})
    log: dict[Slot, Rows] = {slot: [] for slot in slots}
    try:
        ends = {slot: consumer.get_watermark_offsets(TopicPartition(*slot))[1] for slot in slots}
        consumer.assign([TopicPartition(*slot, 0) for slot in slots])

        def is_done() -> bool:
            check()
            for message in consumer.consume(10_000, timeout=0.1):
                assert message.error() is None, message.error()
                topic, partition, value = message.topic(), message.partition(), message.value()
                assert topic is not None
                assert partition is not None
                assert value is not None
                rows = log[topic, partition]
                assert message.offset() == len(rows), "offsets are dense"
                rows.append(value)
            return all(len(log[slot]) >= end for slot, end in ends.items())

        until(is_done, FINISH_SECONDS)
    finally:
        consumer.close()
    return log
