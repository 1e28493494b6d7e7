"""Brokers that are away for a while, and come back with the same address and data.

`STREAMLOG_AWAY_SECONDS=60` sets the length of an outage. Clients get a shorter timeout, so that
also by default the outage is longer than any single call.
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
"""Settings of a client whose calls time out after a second."""


@contextmanager
def away(broker: BrokerProcess) -> Iterator[None]:
    """Kills the broker, and restarts it after the block, but not before its time."""
    broker.kill()
    deadline = time.monotonic() + AWAY_SECONDS
    yield
    threading.Event().wait(max(0.0, deadline - time.monotonic()))
    broker.start()
