"""The load of streamlog's own client."""

import random
import time
from dataclasses import dataclass

import streamlog
from faults.history.lines import Writer
from faults.history.operations import Assign, Outcome, Poll, Record, Seen
from faults.history.payloads import VALUES_PER_PRODUCER, decoded, encoded, key_of
from faults.load.confluent import GROUP, Watcher
from faults.load.plan import READERS, Plan
from faults.load.worker import Pending, Producing, Worker

WAIT_SECONDS = 60.0


@dataclass(frozen=True)
class Group:
    """Records that were sent together."""

    pending: Pending
    tickets: dict[int, streamlog.Ticket]
    """The tickets by the values of the records."""

    @property
    def is_done(self) -> bool:
        """Returns whether all outcomes are known."""
        return all(ticket.done() for ticket in self.tickets.values())

    def settle(self) -> None:
        """Waits for all outcomes, and notes them."""
        for value, ticket in self.tickets.items():
            try:
                stored = ticket.result(WAIT_SECONDS)
            except streamlog.StreamlogError:
                # It retries, so that its last error promises nothing.
                self.pending.settle(Record(value, Outcome.UNKNOWN))
            else:
                self.pending.settle(Record(value, Outcome.OK, stored.offset))


class Sender(Producing):
    """Sends groups of records, and waits for each group before the next to its partition."""

    def __init__(self, process: int, writer: Writer, plan: Plan) -> None:
        """Sends by a client of its own."""
        super().__init__(process, writer)
        self._plan = plan
        self._numbers = iter(range(process * VALUES_PER_PRODUCER, (process + 1) << 40))
        self._client = streamlog.connect(plan.bootstrap)

    def work(self) -> None:
        """Sends at its share of the rate, if the cluster keeps up.

        A partition that is not served keeps no other one waiting.
        """
        choice = random.Random(f"{self._plan.seed} {self.process}")
        pause = GROUP * self._plan.producers / self._plan.rate
        sent: dict[int, Group] = {}
        with self._client, self._client.producer() as producer:
            while not self.stopping.wait(choice.uniform(0, 2 * pause)):
                for partition in [number for number, group in sent.items() if group.is_done]:
                    sent.pop(partition).settle()
                partition = choice.randrange(self._plan.partitions)
                if partition not in sent:
                    sent[partition] = self._send_group(producer, partition, choice)
            for group in sent.values():
                group.settle()

    def _send_group(
        self, producer: streamlog.Producer, partition: int, choice: random.Random
    ) -> Group:
        values = [next(self._numbers) for _ in range(GROUP)]
        pending = Pending(self, partition, values)
        tickets = {
            value: producer.send(
                self._plan.topic,
                encoded(value, choice.randrange(20, 200)),
                key=key_of(value) if self._plan.keyed else None,
                partition=partition,
            )
            for value in values
        }
        return Group(pending, tickets)


class Reader(Worker):
    """Reads all partitions from their beginning."""

    def __init__(self, process: int, writer: Writer, plan: Plan) -> None:
        """Reads by a client of its own."""
        super().__init__(process, writer)
        self._plan = plan
        self._client = streamlog.connect(plan.bootstrap)

    def work(self) -> None:
        """Reads until it is told to stop."""
        self.writer.write(Assign(self.process, time.monotonic_ns()))
        with (
            self._client,
            self._client.consumer(
                self._plan.topic, on_out_of_range="error", stop=self.stopping
            ) as consumer,
        ):
            while not self.stopping.is_set():
                try:
                    self._read(consumer)
                except (streamlog.ConnectError, streamlog.RequestTimeout):
                    # Nobody answered in time: it goes on where it was.
                    continue

    def _read(self, consumer: streamlog.Consumer) -> None:
        invoked = time.monotonic_ns()
        for batch in consumer.batches(max_messages=1_000, max_wait=0.05):
            returned = time.monotonic_ns()
            seen = tuple(Seen(m.partition, m.offset, decoded(m.value)) for m in batch)
            self.writer.write(Poll(self.process, invoked, returned, seen))
            invoked = time.monotonic_ns()


def workers(plan: Plan, writer: Writer) -> list[Worker]:
    """All threads of a load; the ends are asked for by librdkafka."""
    senders = range(plan.producers)
    readers = range(plan.producers, plan.producers + READERS)
    return [
        *(Sender(process, writer, plan) for process in senders),
        *(Reader(process, writer, plan) for process in readers),
        Watcher(plan.producers + READERS, writer, plan),
    ]
