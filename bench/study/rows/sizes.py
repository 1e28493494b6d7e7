"""Produce records of other sizes, a megabyte in flight at most."""

from collections.abc import Iterator
from functools import partial

from study.clients import Produce
from study.clients.client import Outcome
from study.plan import Scale
from study.rows.row import Cell, Row

IN_FLIGHT_BYTES = 4 << 20
TOTAL_BYTES = 500 << 20


def rows(scale: Scale) -> Iterator[Row]:
    """Yields the rows of the family."""
    for size in scale.sizes:
        yield Row(
            f"size-{size}",
            f"produce records of {size:,} bytes one by one",
            "sizes",
            "cached",
            partial(produce, size=size),
        )


def produce(cell: Cell, size: int) -> Outcome:
    """Produces with up to 4 MB in flight."""
    records = max(100, min(cell.scale.records, TOTAL_BYTES // size))
    in_flight = max(1, min(1000, IN_FLIGHT_BYTES // size))
    work = Produce(records, size, in_flight=in_flight, warm_up=records // 10)
    return cell.produce(work)
