"""Members of a group share the partitions, and the group resumes where it stopped."""

import threading
import time

import pytest
from confluent_kafka import Consumer

from py.support.broker import BrokerProcess, until
from streamlog import Client, Message


@pytest.fixture
def numbers(client: Client, topic: str) -> str:
    """A topic with four partitions and the numbers from 0 to 39, ten in each."""
    client.admin.create_topic(topic, partitions=4)
    with client.producer() as producer:
        for number in range(40):
            producer.send(topic, str(number).encode(), partition=number % 4)
    return topic


def number(message: Message) -> int:
    return int(message.value or b"")


def rest(client: Client, topic: str) -> list[int]:
    """Returns the messages that a later member of the group gets."""
    with client.consumer(topic, group=topic) as consumer:
        return sorted(number(message) for message in consumer.until_end())


def test_a_group_resumes_where_it_stopped(client: Client, numbers: str) -> None:
    with client.consumer(numbers, group=numbers) as consumer:
        first = [number(message) for message in consumer.take(15, timeout=20)]
        # The last message counts as done only when the next is requested.
        unfinished = number(next(consumer))
    assert rest(client, numbers) == sorted(set(range(40)) - set(first))
    assert unfinished not in first
    assert rest(client, numbers) == []


def test_the_last_of_so_many_is_done_when_their_loop_ends(client: Client, numbers: str) -> None:
    with client.consumer(numbers, group=numbers) as consumer:
        first = [number(message) for message in consumer.take(15, timeout=20)]
    assert rest(client, numbers) == sorted(set(range(40)) - set(first))


def test_a_message_whose_work_fails_is_delivered_again(client: Client, numbers: str) -> None:
    done: list[int] = []

    def work() -> None:
        with client.consumer(numbers, group=numbers) as consumer:
            for message in consumer:
                if len(done) == 5:
                    raise RuntimeError(message.value)
                done.append(number(message))

    with pytest.raises(RuntimeError) as failed:
        work()
    left = rest(client, numbers)
    assert int(failed.value.args[0]) in left
    assert left == sorted(set(range(40)) - set(done))


def test_only_what_is_committed_by_hand_is_done(client: Client, numbers: str) -> None:
    with client.consumer(numbers, group=numbers, commit="manual") as consumer:
        messages = list(consumer.take(40, timeout=20))
        by_partition = {message.partition: message for message in messages if message.offset == 6}
        for message in by_partition.values():
            consumer.commit(message)
    assert rest(client, numbers) == list(range(28, 40))


def test_a_received_message_is_not_delivered_again(client: Client, numbers: str) -> None:
    with client.consumer(numbers, group=numbers, commit="received") as consumer:
        got = [number(message) for message in consumer.take(7, timeout=20)]
    assert rest(client, numbers) == sorted(set(range(40)) - set(got))


def test_members_share_the_partitions_and_take_over(client: Client, numbers: str) -> None:
    heartbeats = {"heartbeat.interval.ms": 100}
    first = client.consumer(numbers, group=numbers, config=heartbeats)
    second = client.consumer(numbers, group=numbers, config=heartbeats)
    threads = [
        threading.Thread(target=list, args=(consumer,), daemon=True) for consumer in (first, second)
    ]
    for thread in threads:
        thread.start()
    until(lambda: (len(first.assignment()), len(second.assignment())) == (2, 2), 20)
    assert not set(first.assignment()) & set(second.assignment())
    second.close()
    until(lambda: len(first.assignment()) == 4, 20)
    first.close()
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()


def test_a_member_is_kept_while_its_program_works(client: Client, numbers: str) -> None:
    config = {"session.timeout.ms": 6000, "heartbeat.interval.ms": 200}
    with client.consumer(numbers, group=numbers, config=config) as consumer:
        next(consumer)
        before = consumer.assignment()
        time.sleep(7)
        assert consumer.assignment() == before
        next(consumer)
        consumer.commit()


def test_a_group_begun_by_other_clients_is_continued(
    client: Client, shared_broker: BrokerProcess, numbers: str
) -> None:
    options = {
        "bootstrap.servers": shared_broker.address,
        "group.id": numbers,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "partition.assignment.strategy": "range",
    }
    theirs = Consumer(options)
    theirs.subscribe([numbers])
    got = [int(m.value() or b"") for m in theirs.consume(12, timeout=20)]
    theirs.commit(asynchronous=False)
    theirs.close()
    assert len(got) == 12
    assert rest(client, numbers) == sorted(set(range(40)) - set(got))


def test_two_groups_do_not_know_of_each_other(client: Client, numbers: str) -> None:
    for group in (f"{numbers}-a", f"{numbers}-b"):
        with client.consumer(numbers, group=group) as consumer:
            assert len(list(consumer.until_end())) == 40


def test_a_message_from_elsewhere_can_be_committed_too(client: Client, numbers: str) -> None:
    with client.consumer(numbers, group=numbers, commit="manual") as consumer:
        next(consumer)
        consumer.commit(Message((numbers, 0, 9, 0, None, None, ())))
    assert rest(client, numbers) == [n for n in range(40) if n % 4]
