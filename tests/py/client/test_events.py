"""An outage is visible in the log, as an event, and in the client's statistics."""

import asyncio
import gc
import logging
import subprocess
import sys
import threading
import weakref

import pytest

import streamlog
from py.aio.conftest import eventually
from py.support.broker import BrokerProcess, until
from streamlog import Client, aio, events


def said(caplog: pytest.LogCaptureFixture, level: str) -> list[str]:
    own = [record for record in caplog.records if record.name == "streamlog.client"]
    return [record.getMessage() for record in own if record.levelname == level]


def test_an_idle_client_notices_an_outage_and_its_end(
    broker: BrokerProcess, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="streamlog")
    seen: list[events.Event] = []
    with streamlog.connect(broker.address) as client:
        client.on_event(seen.append)
        assert not client.stats().is_lost
        broker.kill()
        until(lambda: seen)
        [lost] = seen
        assert isinstance(lost, events.Lost)
        assert lost.address == broker.address
        # The socket of the killed broker may still take a connection, which is then reset.
        assert "refused" in lost.reason or "reset" in lost.reason
        until(lambda: said(caplog, "WARNING"))
        [warning] = said(caplog, "WARNING")
        assert broker.address in warning
        assert lost.reason in warning
        assert client.stats().is_lost
        assert (client.stats().losses, client.stats().connections) == (1, 0)
        broker.start()
        until(lambda: len(seen) == 2)
        back = seen[1]
        assert isinstance(back, events.Connected)
        assert back.address == broker.address
        assert back.outage > 0
        until(lambda: said(caplog, "INFO"))
        assert f"reconnected to a broker at {broker.address}" in said(caplog, "INFO")[0]
        assert not client.stats().is_lost
        assert client.stats().connects >= 2
        assert len(said(caplog, "WARNING")) == 1


def test_a_busy_client_reports_each_outage_once(broker: BrokerProcess, topic: str) -> None:
    seen: list[events.Event] = []
    with streamlog.connect(broker.address) as client, client.producer() as producer:
        client.on_event(seen.append)
        producer.send(topic, b"0").result(10)
        with client.consumer(topic) as consumer:
            assert next(consumer).value == b"0"
            for outage in range(1, 3):
                broker.kill()
                until(lambda expected=2 * outage - 1: len(seen) == expected)
                ticket = producer.send(topic, b"%d" % outage)
                broker.start()
                ticket.result(20)
                assert next(consumer).value == b"%d" % outage
                until(lambda expected=2 * outage: len(seen) == expected)
    kinds = [type(event) for event in seen]
    assert kinds == [events.Lost, events.Connected] * 2


def test_connections_closed_by_the_client_are_no_outage(
    broker: BrokerProcess, caplog: pytest.LogCaptureFixture, topic: str
) -> None:
    caplog.set_level(logging.INFO, logger="streamlog")
    seen: list[events.Event] = []
    with streamlog.connect(broker.address) as client:
        client.on_event(seen.append)
        with client.producer() as producer:
            producer.send(topic, b"x").result(10)
        with client.consumer(topic) as consumer:
            next(consumer)
        assert client.stats().losses == 0
    broker.kill()
    assert seen == []
    assert said(caplog, "WARNING") == []


def test_rebalances_are_reported_with_the_assignment(client: Client, topic: str) -> None:
    client.admin.create_topic(topic, partitions=2)
    seen: list[events.Event] = []
    client.on_event(seen.append)
    with client.consumer(topic, group=topic):
        until(lambda: seen)
    [event] = seen
    assert isinstance(event, events.Rebalanced)
    assert event.group == topic
    assert sorted(event.partitions) == [(topic, 0), (topic, 1)]
    assert event.generation >= 1
    assert client.stats().rebalances == 1


def test_figures_count_requests_and_bytes(client: Client, topic: str) -> None:
    before = client.stats()
    assert before.requests > 0
    assert before.connections >= 1
    client.producer().send(topic, bytes(100_000)).result(10)
    after = client.stats()
    assert after.bytes_sent - before.bytes_sent > 100_000
    list(client.topic(topic).read())
    assert client.stats().bytes_received - before.bytes_received > 100_000


def test_a_callback_that_blocks_or_fails_delays_nothing(
    broker: BrokerProcess, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", lambda failure: failures.append(failure.exc_value))
    entered, goes_on = threading.Event(), threading.Event()
    seen: list[events.Event] = []

    def blocks(_event: events.Event) -> None:
        entered.set()
        goes_on.wait(30)

    def fails(_event: events.Event) -> None:
        raise ZeroDivisionError

    with streamlog.connect(broker.address) as client:
        for callback in (blocks, fails, seen.append):
            client.on_event(callback)
        broker.kill()
        assert entered.wait(10)
        until(lambda: seen)
        until(lambda: failures)
        broker.start()
        client.producer().send(topic, b"x").result(20)
        until(lambda: len(seen) == 2)
        goes_on.set()
    assert isinstance(failures[0], ZeroDivisionError)


PANIC = """
import logging, queue, sys
import streamlog

unraisable = queue.Queue()
sys.unraisablehook = lambda failure: unraisable.put(failure.exc_value)

def fails(event):
    raise ZeroDivisionError

def panics(event):
    unraisable.get(timeout=20)
    # PyO3 defines the class when it first fetches an exception, which it now has. Raised in Python,
    # it continues as a panic of the thread that called Python.
    [kind] = [kind for kind in BaseException.__subclasses__() if kind.__name__ == "PanicException"]
    raise kind("broken by the test")

lines = queue.Queue()
handler = logging.Handler(logging.ERROR)
handler.emit = lines.put
logging.getLogger("streamlog").addHandler(handler)
broker = streamlog.Broker()
client = broker.connect()
client.on_event(fails)
client.on_event(panics)
broker.close()
line = lines.get(timeout=20)
print(line.name, line.getMessage())
"""


def test_a_panic_that_ends_the_events_of_a_callback_is_logged() -> None:
    run = subprocess.run(
        [sys.executable, "-c", PANIC], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.stdout == (
        "streamlog.client the thread 'streamlog-events' has panicked: a callback of on_event is "
        "not called again; create another client\n"
    ), run.stderr


def test_a_closed_client_lets_go_of_its_callbacks(broker: BrokerProcess) -> None:
    class Watcher:
        def seen(self, event: events.Event) -> None:
            """Ignores the event."""

    watcher = Watcher()
    client = streamlog.connect(broker.address)
    client.on_event(watcher.seen)
    gone = weakref.ref(watcher)
    client.close()
    del watcher

    def is_gone() -> bool:
        gc.collect()
        return gone() is None

    until(is_gone)


def test_a_callback_that_is_not_callable_is_refused(client: Client) -> None:
    with pytest.raises(streamlog.ConfigError, match="callback: expected something that can be"):
        client.on_event("print")  # type: ignore[type-var]


def test_events_come_on_the_loop(broker: BrokerProcess) -> None:
    async def main() -> None:
        seen: list[tuple[events.Event, threading.Thread]] = []
        async with aio.connect(broker.address) as client:

            @client.on_event
            def noted(event: events.Event) -> None:
                seen.append((event, threading.current_thread()))

            broker.kill()
            await eventually(lambda: seen)
            assert client.stats().is_lost
        [(event, thread)] = seen
        assert isinstance(event, events.Lost)
        assert thread is threading.current_thread()

    asyncio.run(main())
