"""The commit of a batch on the driver."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace

import streamlog
from streamlog._core.republishing import new_identity
from streamlog.spark.options import PATIENCE
from streamlog.spark.sink.exactly.checkpoint import Checkpoint
from streamlog.spark.sink.exactly.commit_log import CommitLog
from streamlog.spark.sink.exactly.publication import CopyElsewhere, OnStep, Publication, Step
from streamlog.spark.sink.exactly.record import BatchRecord, Part, PartitionPlan
from streamlog.spark.sink.exactly.repetition import check_fit
from streamlog.spark.sink.exactly.stage import StagedRows

__all__ = ["Commit"]

_LEFTOVER_BYTES = 64 << 20
"""The limit of published staged records in bytes; beyond it they are deleted."""
_SEQUENCES = 2**31
"""The number of sequence numbers; they wrap around to 0."""


class Commit:
    """The driver's work at the end of a batch."""

    def __init__(
        self,
        clients: Sequence[streamlog.Client],
        query: str,
        on_step: OnStep = lambda step: None,
        patience: float = PATIENCE,
        copy_elsewhere: CopyElsewhere | None = None,
    ) -> None:
        """Prepares commits for this query.

        Args:
            clients: The client for commits, and others that only share the copying.
            query: The query's id.
            on_step: Called after each step.
            patience: Seconds to wait for unreachable brokers while records are copied.
            copy_elsewhere: Copies in other processes instead of the driver.
        """
        self._clients = clients
        self._client = clients[0]
        self._query = query
        self._log = CommitLog(clients[0], query)
        self._on_step = on_step
        self._patience = patience
        self._copy_elsewhere = copy_elsewhere

    def batch(self, number: int, rows: Sequence[StagedRows], location: str | None = None) -> None:
        """Commits the batch, unless it is committed, and returns when its rows are published.

        First finishes the previous batch, if a crash has interrupted it.

        Args:
            number: The number of the batch.
            rows: Its staged rows.
            location: The location of the query's checkpoint.

        Raises:
            FencedError: Another driver runs the same query, or the checkpoint does not fit its
                commit log.
            StreamlogError: The last batch cannot be finished; the message says why.
        """
        checkpoint = Checkpoint(location, self._query)
        self._on_step(Step.STAGED)
        last = self._log.last()
        if last is not None:
            offset, record = last
            if not self._log.is_finished(offset):
                self._publication(record).finish()
                self._log.finish(offset)
            check_fit(record, number, rows, checkpoint)
            if record.batch == number:
                return
        record = replace(self._record(number, rows, last), plan=checkpoint.plan_of(number))
        offset = self._log.append(record)
        self._on_step(Step.COMMITTED)
        publication = self._publication(record)
        publication.publish()
        self._log.finish(offset)
        self._on_step(Step.FINISHED)
        # Deleting costs several flushes for each partition, so let staged records accumulate. The
        # first record of the log cannot be marked as finished, so its staged records are deleted at
        # once: their absence is the mark.
        leftover = publication.leftover() * _mean_bytes(rows)
        if offset == 0 or leftover >= _LEFTOVER_BYTES:
            publication.forget()

    def _publication(self, record: BatchRecord) -> Publication:
        return Publication(
            self._clients, record, self._on_step, self._patience, self._copy_elsewhere
        )

    def _record(
        self, number: int, rows: Sequence[StagedRows], last: tuple[int, BatchRecord] | None
    ) -> BatchRecord:
        topics = {target: staged for row in rows for target, staged in row.topics.items()}
        before = {} if last is None else {plan.place: plan for plan in last[1].partitions}
        plans = {
            place: replace(plan, sequence=_after(plan), offset=0, staged_end=0, parts=())
            for place, plan in before.items()
        }
        for target, staged in topics.items():
            plans |= {plan.place: plan for plan in self._plans(target, staged, rows, before)}
        if last is None:
            producer, epoch = new_identity(self._client)
        else:
            producer, epoch = last[1].producer, last[1].epoch
        return BatchRecord(
            batch=number,
            previous=None if last is None else last[0],
            writer=str(uuid.uuid4()),
            producer=producer,
            epoch=epoch,
            staged={staged: self._client.admin.topic(staged).id for staged in topics.values()},
            partitions=tuple(plans[place] for place in sorted(plans)),
        )

    def _plans(
        self,
        target: str,
        staged: str,
        rows: Sequence[StagedRows],
        before: Mapping[tuple[str, int], PartitionPlan],
    ) -> list[PartitionPlan]:
        """Returns the plan of each partition of a target."""
        ends = self._client.admin.end_offsets(target)
        return [
            PartitionPlan(
                target=target,
                staged=staged,
                partition=partition,
                sequence=_after(before.get((target, partition))),
                offset=ends.get(partition) or 0,
                staged_end=end or 0,
                parts=_parts(rows, (staged, partition)),
            )
            for partition, end in self._client.admin.end_offsets(staged).items()
        ]


def _mean_bytes(rows: Sequence[StagedRows]) -> float:
    """Returns the approximate mean size in bytes of the records just staged."""
    records = sum(part.records for row in rows for part in row.parts.values())
    return sum(row.size for row in rows) / max(1, records)


def _parts(rows: Sequence[StagedRows], place: tuple[str, int]) -> tuple[Part, ...]:
    return tuple(row.parts[place] for row in rows if place in row.parts)


def _after(plan: PartitionPlan | None) -> int:
    """Returns the sequence number that follows the records of a plan."""
    return 0 if plan is None else (plan.sequence + plan.records) % _SEQUENCES
