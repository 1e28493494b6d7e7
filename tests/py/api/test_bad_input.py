"""Bad input is refused at once with a message, and loses no record: each test counts them."""

import asyncio
import multiprocessing
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import MappingProxyType

import pytest

import streamlog
from py.support.timing import quickest
from streamlog import Client, Consumer, Message

RECORDS = 10

# Typed as Any: type checkers would report the mistakes before the program runs.
MISSPELT: Callable[..., object] = streamlog.connect


@contextmanager
def nothing_lost(client: Client, topic: str) -> Iterator[None]:
    """Checks that records sent before and after the block are all stored, once and in order."""
    expected = [b"%d" % number for number in range(2 * RECORDS)]
    with client.producer() as producer:
        for value in expected[:RECORDS]:
            producer.send(topic, value, partition=0)
        producer.flush()
        yield
        for value in expected[RECORDS:]:
            producer.send(topic, value, partition=0)
    assert values(client, topic) == expected


def values(client: Client, topic: str) -> list[bytes | None]:
    """Returns the values in the topic."""
    with client.consumer(topic) as consumer:
        return [message.value for message in consumer.until_end()]


def an_old_one(client: Client) -> Message:
    """A message of another topic."""
    client.producer().send("old", b"x").result()
    return next(client.consumer("old"))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda client, topic: client.producer(lingr=1), "did you mean 'linger'"),
        (lambda client, topic: client.consumer(topic, grup="g"), "did you mean 'group'"),
        (lambda client, topic: MISSPELT(timeot=1), "did you mean 'timeout'"),
        (lambda client, topic: client.producer(config={"ackz": 1}), "did you mean 'acks'"),
        (lambda client, topic: client.consumer(topic, gruop="g"), "did you mean 'group'"),
    ],
)
def test_an_unknown_option_is_answered_with_the_nearest_name(
    streamlog_client: Client, topic: str, call: Callable[[Client, str], object], words: str
) -> None:
    with nothing_lost(streamlog_client, topic), pytest.raises(streamlog.ConfigError, match=words):
        call(streamlog_client, topic)


@pytest.mark.parametrize(
    ("call", "theirs", "ours"),
    [
        ("producer", "linger_ms", "'linger', in seconds?"),
        ("producer", "linger.ms", "'linger', in seconds?"),
        ("producer", "delivery_timeout_ms", "'delivery_timeout', in seconds?"),
        ("producer", "max_block_ms", "'send_timeout', in seconds?"),
        ("producer", "compression_type", "'compression'?"),
        ("producer", "buffer_memory", "'buffer'?"),
        ("producer", "enable_idempotence", "'idempotence'?"),
        ("producer", "value_serializer", "'value'?"),
        ("producer", "key_serializer", "'key'?"),
        ("producer", "bootstrap_servers", "connect(config={'bootstrap.servers': ...})?"),
        ("producer", "client_id", "connect(config={'client.id': ...})?"),
        ("consumer", "group_id", "'group'?"),
        ("consumer", "auto_offset_reset", "'start'?"),
        ("consumer", "enable_auto_commit", "'commit'?"),
        ("consumer", "auto_commit_interval_ms", "'commit_interval', in seconds?"),
        ("consumer", "value_deserializer", "'value'?"),
        ("consumer", "key_deserializer", "'key'?"),
        ("consumer", "fetch_max_wait_ms", "'fetch_wait', in seconds?"),
        ("consumer", "session_timeout_ms", "connect(config={'session.timeout.ms': ...})?"),
        ("connect", "bootstrap_servers", "'bootstrap'?"),
        ("connect", "default_api_timeout_ms", "'timeout', in seconds?"),
        ("connect", "request_timeout_ms", "connect(config={'request.timeout.ms': ...})?"),
        ("create_topic", "num_partitions", "'partitions'?"),
        ("create_topic", "replication_factor", "'replicas'?"),
    ],
)
def test_a_name_that_other_clients_have_is_answered_with_ours(
    streamlog_client: Client, topic: str, call: str, theirs: str, ours: str
) -> None:
    calls: dict[str, Callable[..., object]] = {
        "producer": streamlog_client.producer,
        "consumer": partial(streamlog_client.consumer, topic),
        "connect": MISSPELT,
        "create_topic": partial(streamlog_client.admin.create_topic, topic),
    }
    with nothing_lost(streamlog_client, topic), pytest.raises(streamlog.ConfigError) as raised:
        calls[call](**{theirs: 1})
    assert str(raised.value) == f"{theirs}: unknown setting; did you mean {ours}"


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda client, topic: client.producer(acks=1, idempotence=True), ("idempotence", "acks")),
        (
            lambda client, topic: client.producer(linger=1.0, config={"linger.ms": 5}),
            ("linger.ms", "twice"),
        ),
        (
            lambda client, topic: client.producer(linger=2.0, delivery_timeout=2.0),
            ("linger", "delivery_timeout="),
        ),
        (lambda client, topic: client.producer(compression_level=3), ("compression_level", "none")),
        (
            lambda client, topic: client.producer(compression="snappy", compression_level=3),
            ("compression_level", "compression=snappy"),
        ),
        (lambda client, topic: client.producer(audit_window=60.0), ("audit_window", "audit=")),
        (
            lambda client, topic: client.producer(config={"audit.window.ms": 60_000}),
            ("audit.window.ms", "audit.tier="),
        ),
        (lambda client, topic: client.consumer(topic).commit(), ("commit", "group=")),
        (
            lambda client, topic: client.consumer(topic).streams(1)[0].commit(an_old_one(client)),
            ("commit", "group="),
        ),
        (lambda client, topic: client.consumer(topic, commit="manual"), ("commit", "group")),
        (lambda client, topic: client.consumer(topic, on_error="skip"), ("on_error", "value")),
        (
            lambda client, topic: client.admin.create_topic(
                "twice", retention=timedelta(days=1), config={"retention.ms": 1}
            ),
            ("retention.ms", "retention="),
        ),
        (
            lambda client, topic: client.consumer(
                topic, value=int, on_error=streamlog.DeadLetters(topic)
            ),
            ("on_error", "endlessly"),
        ),
    ],
)
def test_contradictory_options_are_one_error_that_names_both(
    streamlog_client: Client,
    topic: str,
    call: Callable[[Client, str], object],
    names: tuple[str, str],
) -> None:
    with nothing_lost(streamlog_client, topic):
        with pytest.raises(streamlog.ConfigError) as raised:
            call(streamlog_client, topic)
        assert all(name in str(raised.value) for name in names)
        assert len(str(raised.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda client, topic: client.consumer([]), "topics: none are named"),
        (
            lambda client, topic: client.consumer(topic, start="begin"),
            "start: invalid value 'begin'",
        ),
        (lambda client, topic: client.consumer(topic, stop=True), "stop: expected an event"),
        (
            lambda client, topic: client.consumer(topic, stop=asyncio.Event()),
            "stop: expected an ev",
        ),
        (
            lambda client, topic: client.consumer(
                topic, value=int, on_error=streamlog.DeadLetters("a b")
            ),
            "on_error: invalid value 'dead-letter:a b'",
        ),
        (lambda client, topic: client.consumer(topic).pause("one"), "partition: invalid value 'o'"),
        (
            lambda client, topic: client.consumer(topic).seek({"t": 0}),
            "partition: invalid value 't'",
        ),
        (
            lambda client, topic: client.consumer(topic).rewind(timedelta(hours=-1)),
            "rewind: invalid value '-1 day, 23:00:00': expected a timedelta that is not negative",
        ),
        (lambda client, topic: client.topic(topic).read("earliest"), "'earliest' is no place in a"),
        (
            lambda client, topic: client.topic(topic).partition(0).read(stop="latest"),
            "'latest' is no place in a topic",
        ),
        (
            lambda client, topic: client.admin.create_topic("t", retention=timedelta(days=-1)),
            "retention: invalid value '-1 day, 0:00:00': expected a timedelta, not negative",
        ),
        (lambda client, topic: client.producer(config=[1]), "config: expected a mapping of names"),
        (
            lambda client, topic: client.consumer(topic).batches(max_wait=-1),
            "max_wait: invalid value '-1': expected seconds, not negative",
        ),
    ],
)
def test_a_value_that_is_invalid_is_named_with_what_is_expected(
    streamlog_client: Client, topic: str, call: Callable[[Client, str], object], words: str
) -> None:
    with nothing_lost(streamlog_client, topic), pytest.raises(streamlog.ConfigError, match=words):
        call(streamlog_client, topic)


BEYOND = 10**30
"""A number that exceeds every integer type in use."""

NUMBERS: list[tuple[str, int, Callable[[Client, str, int], object]]] = [
    ("count", -1, lambda client, topic, number: client.consumer(topic).take(number)),
    ("count", -1, lambda client, topic, number: client.consumer(topic).streams(number)),
    (
        "max_messages",
        -1,
        lambda client, topic, number: client.consumer(topic).batches(max_messages=number),
    ),
    ("max_rows", -1, lambda client, topic, number: client.consumer(topic).arrow(max_rows=number)),
    ("messages", -1, lambda client, topic, number: client.consumer(topic).rewind(messages=number)),
    ("limit", -1, lambda client, topic, number: client.topic(topic).read(limit=number)),
    ("limit", -1, lambda client, topic, number: client.topic(topic).reversed(limit=number)),
    (
        "limit",
        -1,
        lambda client, topic, number: client.topic(topic).partition(0).read(limit=number),
    ),
    (
        "limit",
        -1,
        lambda client, topic, number: client.topic(topic).partition(0).reversed(limit=number),
    ),
    (
        "partition",
        -BEYOND,
        lambda client, topic, number: client.producer().send(topic, b"never", partition=number),
    ),
    (
        "timestamp",
        -BEYOND,
        lambda client, topic, number: client.producer().send(topic, b"never", timestamp=number),
    ),
    (
        "partitioner",
        -BEYOND,
        lambda client, topic, number: client.producer(partitioner=lambda *_: number).send(
            topic, b"never"
        ),
    ),
    (
        "partitions",
        -BEYOND,
        lambda client, topic, number: client.admin.create_topic("t", partitions=number),
    ),
    (
        "partitions",
        -BEYOND,
        lambda client, topic, number: client.admin.set_partitions(topic, number),
    ),
    (
        "partition",
        -BEYOND,
        lambda client, topic, number: client.admin.delete_records(topic, number, 0),
    ),
    ("before", -1, lambda client, topic, number: client.admin.delete_records(topic, 0, number)),
    ("broker", -BEYOND, lambda client, topic, number: client.admin.settings(broker=number)),
    (
        "offsets",
        -BEYOND,
        lambda client, topic, number: client.admin.group("g").commit({(topic, 0): number}),
    ),
]


@pytest.mark.parametrize(("name", "below", "call"), NUMBERS)
def test_a_number_that_is_invalid_is_named_with_its_argument_and_what_is_expected(
    streamlog_client: Client,
    topic: str,
    name: str,
    below: int,
    call: Callable[[Client, str, int], object],
) -> None:
    with nothing_lost(streamlog_client, topic):
        for number in (below, BEYOND):
            with pytest.raises(
                streamlog.ConfigError, match=f"^{name}: invalid value .*: "
            ) as raised:
                call(streamlog_client, topic, number)
            assert str(number) in str(raised.value)


@pytest.mark.parametrize("place", [BEYOND, -BEYOND])
def test_an_offset_beyond_all_logs_is_not_a_position_in_a_topic(
    streamlog_client: Client, topic: str, place: int
) -> None:
    with nothing_lost(streamlog_client, topic):
        log = streamlog_client.topic(topic)
        for read in (log.read, log.reversed, log.partition(0).read, log.partition(0).reversed):
            with pytest.raises(streamlog.ConfigError, match=f"{place} is no place in a topic"):
                read(place)


def test_settings_come_as_any_mapping(streamlog_client: Client, topic: str) -> None:
    settings = MappingProxyType[str, str | int]({"cleanup.policy": "compact", "retention.ms": 1000})
    streamlog_client.admin.create_topic(topic, config=settings)
    streamlog_client.admin.set_settings(MappingProxyType({"max.message.bytes": 1000}), topic=topic)
    found = streamlog_client.admin.settings(topic=topic)
    assert (found["retention.ms"].value, found["max.message.bytes"].value) == ("1000", "1000")
    streamlog_client.producer(config=MappingProxyType({"linger.ms": 1})).close()


@contextmanager
def address(*, listening: bool) -> Iterator[str]:
    """An address where nothing listens, or whose server accepts connections and never answers."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        if listening:
            bound.listen()
        yield f"127.0.0.1:{bound.getsockname()[1]}"


def test_every_address_that_was_tried_is_named_within_the_timeout() -> None:
    with address(listening=True) as silent, address(listening=False) as closed:

        def connect() -> float:
            began = time.monotonic()
            with pytest.raises(streamlog.ConnectError, match="--advertise") as raised:
                streamlog.connect([silent, closed], timeout=1.0)
            seconds = time.monotonic() - began
            tried = dict(raised.value.tried)
            assert list(tried) == [silent, closed]
            assert "no answer within" in tried[silent]
            assert "refused" in tried[closed]
            return seconds

        assert quickest(connect, 2.0) < 2.0


def test_an_address_that_answers_is_found_behind_one_that_does_not(
    streamlog_broker: streamlog.Broker, topic: str
) -> None:
    with (
        address(listening=True) as silent,
        streamlog.connect([silent, streamlog_broker.address], timeout=2.0) as client,
        nothing_lost(client, topic),
    ):
        pass


def test_an_advertised_address_that_leads_nowhere_is_named_with_the_remedy(tmp_path: Path) -> None:
    with address(listening=False) as nowhere:
        config = {"advertised.listeners": nowhere}
        with (
            streamlog.Broker(tmp_path, config=config) as broker,
            broker.connect() as client,
            client.producer(config={"delivery.timeout.ms": 2000}) as producer,
        ):
            ticket = producer.send("t", b"x")
            with pytest.raises(streamlog.RequestTimeout, match="--advertise") as raised:
                ticket.result(10)
            cause = raised.value.last_error
            assert isinstance(cause, streamlog.ConnectError)
            assert [tried for tried, _ in cause.tried] == [nowhere]
    with streamlog.Broker(tmp_path) as broker, broker.connect() as client:
        assert values(client, "t") == []


def test_a_value_that_cannot_be_decoded_delays_no_other(
    streamlog_client: Client, topic: str
) -> None:
    with nothing_lost(streamlog_client, topic):
        streamlog_client.producer().send(f"{topic}-odd", b"no number").result()
    with streamlog_client.producer() as producer:
        for number in range(RECORDS):
            producer.send(f"{topic}-odd", b"%d" % number)
    read: list[int | None] = []
    with streamlog_client.consumer(f"{topic}-odd", value=int, start="earliest") as consumer:
        reading = consumer.until_end()
        with pytest.raises(streamlog.DecodeError) as raised:
            read.extend(message.value for message in reading)
        read.extend(message.value for message in consumer.until_end())
    assert raised.value.message is not None
    assert raised.value.message.value == b"no number"
    assert sorted(number for number in read if number is not None) == list(range(RECORDS))


def test_a_record_too_large_is_refused_before_it_is_sent(
    streamlog_client: Client, topic: str
) -> None:
    with (
        nothing_lost(streamlog_client, topic),
        streamlog_client.producer(max_request_size=1024) as producer,
    ):
        with pytest.raises(streamlog.MessageTooLarge, match=r"max\.request\.size") as raised:
            producer.send(topic, bytes(2000))
        assert raised.value.limit == 1024
        assert raised.value.size > 2000


def test_a_batch_too_large_for_its_topic_is_named_with_its_size_and_the_setting(
    streamlog_client: Client, topic: str
) -> None:
    streamlog_client.admin.create_topic(topic, partitions=1, config={"max.message.bytes": 1000})
    with nothing_lost(streamlog_client, topic), streamlog_client.producer() as producer:
        ticket = producer.send(topic, bytes(2000))
        with pytest.raises(streamlog.MessageTooLarge, match=r"max\.message\.bytes") as raised:
            ticket.result(10)
        assert raised.value.limit is None
        assert raised.value.size > 2000
        assert str(raised.value.size) in str(raised.value)


def test_a_closed_client_reports_it_and_loses_nothing(
    streamlog_broker: streamlog.Broker, streamlog_client: Client, topic: str
) -> None:
    with nothing_lost(streamlog_client, topic):
        client = streamlog_broker.connect()
        producer, consumer = client.producer(), client.consumer(topic)
        client.close()
        calls: list[Callable[[], object]] = [
            lambda: producer.send(topic, b"never"),
            lambda: client.consumer(topic),
            lambda: client.producer(),
            lambda: client.admin.topics(),
            lambda: client.topic(topic).read(),
            lambda: list(consumer),
        ]
        for call in calls:
            with pytest.raises(streamlog.Closed, match="was closed: create a new one"):
                call()


def test_a_closed_member_commits_no_more_and_says_why(streamlog_client: Client, topic: str) -> None:
    with nothing_lost(streamlog_client, topic):
        consumer = streamlog_client.consumer(topic, group=topic, commit="manual")
        message = next(consumer)
        consumer.close()
        with pytest.raises(streamlog.Closed, match="was closed"):
            consumer.commit(message)
        with pytest.raises(streamlog.Closed, match="was closed"):
            consumer.commit()


@pytest.mark.parametrize(
    "call",
    [
        lambda consumer: consumer.seek("earliest"),
        lambda consumer: consumer.seek({0: 0}),
        lambda consumer: consumer.seek({}),
        lambda consumer: consumer.rewind(timedelta(hours=1)),
        lambda consumer: consumer.rewind(messages=1),
        lambda consumer: consumer.pause(),
        lambda consumer: consumer.pause(0),
        lambda consumer: consumer.resume(),
        lambda consumer: consumer.streams(2),
    ],
)
def test_a_closed_consumer_goes_nowhere_and_reports_it(
    streamlog_broker: streamlog.Broker,
    streamlog_client: Client,
    topic: str,
    call: Callable[[Consumer], object],
) -> None:
    with nothing_lost(streamlog_client, topic), streamlog_broker.connect() as client:
        closed, forsaken = client.consumer(topic), client.consumer(topic)
        closed.close()
        with pytest.raises(streamlog.Closed, match="was closed: create a new one"):
            call(closed)
        client.close()
        with pytest.raises(streamlog.Closed, match="was closed: create a new one"):
            call(forsaken)


def _reads_nothing(consumer: Consumer) -> None:
    """Runs in a forked child, which exits with 0 on success."""
    with pytest.raises(streamlog.ForkError, match="forked"):
        next(iter(consumer))


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_that_reads_on_takes_nothing_from_its_parent(
    streamlog_client: Client, topic: str
) -> None:
    with nothing_lost(streamlog_client, topic), streamlog_client.consumer(topic) as consumer:
        read = [next(consumer).value for _ in range(3)]
        fork = multiprocessing.get_context("fork")
        child = fork.Process(target=_reads_nothing, args=(consumer,))
        child.start()
        child.join(20)
        assert child.exitcode == 0
        read += [message.value for message in consumer.take(RECORDS - 3, timeout=10)]
        assert read == [b"%d" % number for number in range(RECORDS)]
