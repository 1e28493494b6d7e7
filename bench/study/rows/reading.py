"""Consume with large fetches, warm: the bytes are in the page cache and were read before."""

from collections.abc import Iterator

from study.clients import Consume, Produce
from study.clients.client import Outcome
from study.plan import Scale
from study.rows.row import Cell, Row

FETCH_BYTES = 1 << 20
PREFETCH_RECORDS = 5000


def rows(scale: Scale) -> Iterator[Row]:
    """Yields the rows of the family."""
    yield Row("consume-1mb", "consume, 1 MB or 5,000 records ahead", "consume", "cached", consume)


def consume(cell: Cell) -> Outcome:
    """Fills a topic, and consumes it; logs are read twice, of which the second time counts."""
    batch = 50 if cell.peer.has_batches else 1
    filled = cell.produce(Produce(2 * cell.scale.records, batch=batch))
    there = int(filled.figures["records"])
    warm_up = there // 4
    work = Consume(there - warm_up, 200, FETCH_BYTES, PREFETCH_RECORDS, warm_up)
    return cell.consume(work)
