"""Produce to many partitions in turn, for brokers of Kafka's protocol."""

from collections.abc import Iterator
from functools import partial

from study.clients import Produce
from study.clients.client import Outcome
from study.plan import Scale
from study.rows.row import Cell, Row, Subject


def rows(scale: Scale) -> Iterator[Row]:
    """Yields the rows of the family."""
    for count in scale.partitions:
        yield Row(
            f"partitions-{count}",
            f"produce one by one to {count:,} partitions in turn",
            "partitions",
            "cached",
            partial(produce, count=count),
            fits=has_partitions,
        )


def has_partitions(subject: Subject) -> bool:
    """True for topics with partitions, and the load that counts requests in flight."""
    return subject.peer.has_partitions and subject.client == "load"


def produce(cell: Cell, count: int) -> Outcome:
    """Creates the topic, and produces with 1,000 requests in flight."""
    cell.create(count)
    records = cell.scale.records
    work = Produce(records, partitions=count, warm_up=max(records // 10, count))
    return cell.produce(work)
