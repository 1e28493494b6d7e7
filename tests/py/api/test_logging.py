"""The engine logs through Python's `logging` only."""

import logging
import subprocess
import sys
import time

import pytest

import streamlog

SCRIPT = """
import streamlog
with streamlog.Broker() as broker, broker.connect() as client:
    client.producer().send("t", b"x").result()
    port = broker.port
try:
    streamlog.connect(f"127.0.0.1:{port}", timeout=0.5)
except streamlog.ConnectError:
    pass
"""


def test_nothing_is_written_by_itself() -> None:
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=20, check=True
    )
    assert (run.stdout, run.stderr) == ("", "")


def test_a_handler_gets_what_the_engine_says(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="streamlog")
    with streamlog.Broker() as broker:
        client = broker.connect()
        client.admin.create_topic("logged")
    deadline = time.monotonic() + 10
    while not caplog.records and time.monotonic() < deadline:
        time.sleep(0.01)
    assert caplog.records
    assert {record.name.split(".")[0] for record in caplog.records} == {"streamlog"}
    assert all(record.levelno >= logging.INFO for record in caplog.records)


LEVELS = """
import logging, queue
import streamlog

lines = queue.Queue()
handler = logging.Handler()
handler.emit = lines.put
logger = logging.getLogger("streamlog.broker")
logger.addHandler(handler)
with streamlog.Broker() as broker:
    broker.connect().close()
    logger.setLevel(logging.DEBUG)
    broker.connect().close()
    while lines.get(timeout=20).levelno != logging.DEBUG:
        pass
print("a detailed line")
"""


def test_a_level_set_after_the_first_connection_counts() -> None:
    run = subprocess.run(
        [sys.executable, "-c", LEVELS], capture_output=True, text=True, timeout=60, check=False
    )
    assert (run.stdout, run.stderr) == ("a detailed line\n", "")


PANIC = """
import logging, queue, sys
import streamlog

unraisable = queue.Queue()
sys.unraisablehook = lambda failure: unraisable.put(failure.exc_value)

def emit(line):
    # PyO3 defines the class when it first fetches an exception, at the latest for the first line.
    # Raised in Python, it continues as a panic of the thread that called Python.
    kinds = [kind for kind in BaseException.__subclasses__() if kind.__name__ == "PanicException"]
    raise kinds[0]("broken by the test") if kinds else ZeroDivisionError

handler = logging.Handler()
handler.emit = emit
logger = logging.getLogger("streamlog")
logger.addHandler(handler)
logger.setLevel(logging.DEBUG)
with streamlog.Broker() as broker:
    broker.connect().close()
    broker.connect().close()
    while not isinstance(failure := unraisable.get(timeout=20), RuntimeError):
        pass
print(repr(failure))
"""


def test_a_panic_that_ends_the_log_is_reported_to_python() -> None:
    run = subprocess.run(
        [sys.executable, "-c", PANIC], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.stdout == (
        "RuntimeError(\"the thread 'streamlog-log' has panicked: streamlog's loggers get no more "
        'lines in this process; restart it")\n'
    ), run.stderr
