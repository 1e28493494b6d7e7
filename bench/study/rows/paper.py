"""The experiment of 2011: produce without acknowledgements, then consume with a prefetch.

Records of 200 bytes, unflushed everywhere. A produce ends when the peer has stored the last record,
however little it says about it, so that no socket's buffer is counted as work.
"""

from collections.abc import Iterator

from study.clients import Consume, Produce
from study.clients.client import Outcome
from study.plan import Scale
from study.rows.row import Cell, Row, has_batches

PREFETCH_BYTES = 200 << 10
PREFETCH_RECORDS = 1000
RECORD_BYTES = 200
FAMILY = "paper"


def rows(scale: Scale) -> Iterator[Row]:
    """Yields the rows of the family."""
    yield Row(
        "paper-produce-1",
        "produce one by one, without acknowledgements",
        FAMILY,
        "cached",
        lambda cell: produce(cell, 1),
        is_acknowledged=False,
    )
    yield Row(
        "paper-produce-50",
        "produce in batches of 50, without acknowledgements",
        FAMILY,
        "cached",
        lambda cell: produce(cell, 50),
        fits=has_batches,
        is_acknowledged=False,
    )
    yield Row(
        "paper-consume",
        "consume, prefetch of 200 KB or 1,000 records",
        FAMILY,
        "cached",
        consume,
    )


def produce(cell: Cell, batch: int) -> Outcome:
    """Produces, and measures the bytes on disk beyond the values."""
    records = cell.scale.paper_records
    warm_up = records // 10
    before = cell.settled_bytes()
    outcome = cell.produce(Produce(records, RECORD_BYTES, batch, acks=0, warm_up=warm_up))
    stored = outcome.figures["records"] + warm_up
    overhead = (cell.settled_bytes() - before) / stored - RECORD_BYTES
    outcome.figures["overhead_bytes"] = overhead
    return outcome


def consume(cell: Cell) -> Outcome:
    """Fills a topic, consumes it, and measures what the peer writes meanwhile."""
    records = cell.scale.paper_records
    batch = 50 if cell.peer.has_batches else 1
    filled = cell.produce(Produce(records, RECORD_BYTES, batch))
    there = int(filled.figures["records"])
    cell.settled_bytes()
    before = cell.written()
    warm_up = there // 10
    outcome = cell.consume(
        Consume(there - warm_up, RECORD_BYTES, PREFETCH_BYTES, PREFETCH_RECORDS, warm_up)
    )
    outcome.figures["written_bytes"] = (cell.written() - before) / there
    return outcome
