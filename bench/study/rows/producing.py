"""Produce with acknowledgements, in the page cache and flushed, pipelined and one at a time."""

from collections.abc import Iterator
from functools import partial

from study.clients import Produce
from study.clients.client import Outcome
from study.peers.peer import Mode
from study.plan import Scale
from study.rows.row import Cell, Row, has_batches

FAMILY = "produce"
SUFFIX: dict[Mode, str] = {"cached": "", "flushed": ", flushed"}


def rows(scale: Scale) -> Iterator[Row]:
    """Yields the rows of the family."""
    modes: tuple[Mode, ...] = ("cached", "flushed")
    for mode in modes:
        yield Row(
            f"produce-1-{mode}",
            f"produce one by one, 1,000 in flight{SUFFIX[mode]}",
            FAMILY,
            mode,
            partial(produce, batch=1),
        )
        yield Row(
            f"produce-50-{mode}",
            f"produce in batches of 50, 1,000 in flight{SUFFIX[mode]}",
            FAMILY,
            mode,
            partial(produce, batch=50),
            fits=has_batches,
        )
        yield Row(
            f"sync-{mode}",
            f"produce one by one, one in flight{SUFFIX[mode]}",
            FAMILY,
            mode,
            one_in_flight,
        )


def produce(cell: Cell, batch: int) -> Outcome:
    """Produces with 1,000 requests in flight."""
    records = cell.scale.records
    return cell.produce(Produce(records, batch=batch, warm_up=records // 10))


def one_in_flight(cell: Cell) -> Outcome:
    """Produces with one request in flight, for a twentieth of the records."""
    records = max(cell.scale.records // 20, 100)
    return cell.produce(Produce(records, in_flight=1, warm_up=records // 10))
