"""Brokers that go away for a while, and come back on the same address and data.

`STREAMLOG_AWAY_SECONDS=60` keeps them away for as long as that. Clients are told to give up a call
after less, so that by default too it is longer than any single call of theirs.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from py.support.broker import BrokerProcess

__all__ = ["AWAY_SECONDS", "IMPATIENT", "away"]

AWAY_SECONDS = float(os.environ.get("STREAMLOG_AWAY_SECONDS", "3"))
IMPATIENT = {"default.api.timeout.ms": "1000"}
"""Settings of a client whose calls take a second at the most."""


@contextmanager
def away(broker: BrokerProcess) -> Iterator[None]:
    """The broker is killed, and is back after the block, though not before its time."""
    broker.kill()
    deadline = time.monotonic() + AWAY_SECONDS
    yield
    threading.Event().wait(max(0.0, deadline - time.monotonic()))
    broker.start()
