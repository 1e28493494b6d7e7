"""The time from a record's scheduled sending until a consumer has it, at fixed rates."""

from collections.abc import Iterator
from functools import partial

from study.clients import Latency
from study.clients.client import Outcome
from study.plan import Scale
from study.rows.row import Cell, Row

FAMILY = "latency"
RATES = {"quick": (1000,), "tiny": (500,)}
ALL_RATES = (1000, 5000, 20_000)


def rows(scale: Scale) -> Iterator[Row]:
    """Yields the rows of the family."""
    for rate in RATES.get(scale.name, ALL_RATES):
        yield Row(
            f"latency-{rate}-cached",
            f"end to end, {rate:,} records/s",
            FAMILY,
            "cached",
            partial(measure, rate=rate),
            figure="p50_us",
        )
    rate = RATES.get(scale.name, ALL_RATES)[0]
    yield Row(
        f"latency-{rate}-flushed",
        f"end to end, {rate:,} records/s, flushed",
        FAMILY,
        "flushed",
        partial(measure, rate=rate),
        figure="p50_us",
    )


def measure(cell: Cell, rate: int) -> Outcome:
    """Sends at the rate for some seconds, after a warm-up of a second."""
    records = int(cell.scale.latency_seconds * rate)
    work = Latency(records, rate, warm_up=min(rate, records))
    return cell.client.latency(cell.target, work)
