"""The publication of a committed batch, also after an interruption."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from enum import Enum, auto
from typing import TypeAlias

import streamlog
from streamlog._core.republishing import republish, republished
from streamlog.errors import (
    BrokerError,
    FencedError,
    StreamlogError,
    TopicNotFound,
)
from streamlog.spark.sink.exactly.record import BatchRecord, PartitionPlan

__all__ = ["CopyElsewhere", "OnStep", "Publication", "Step"]

_OUT_OF_RANGE = "OFFSET_OUT_OF_RANGE"
_Row: TypeAlias = tuple[str, str, int, tuple[int, int, int], int, list[tuple[int, int, int, int]]]
"""A partition's plan, as ``republish`` takes it."""
_BATCHES_AT_ONCE = 1 << 62
"""The number of batches of each partition to copy in one step: all. Tests use fewer."""


class Step(Enum):
    """A finished step of a commit."""

    STAGED = auto()
    """The rows are staged, and not committed."""
    COMMITTED = auto()
    """The record of the batch is in the commit log."""
    COPIED = auto()
    """A part of the batch, perhaps not all, is in the target."""
    PUBLISHED = auto()
    """The whole batch is in the target, but not marked as published; staged records remain."""
    FINISHED = auto()
    """The commit log marks the batch as published."""
    FORGOTTEN = auto()
    """The staged records of a topic are deleted."""


OnStep = Callable[[Step], None]
CopyElsewhere = Callable[[BatchRecord], None]
"""Copies the partitions of a record in other processes, and returns when they are copied."""


class Publication:
    """The copy of one committed batch from staging topics to its targets."""

    def __init__(
        self,
        clients: Sequence[streamlog.Client],
        record: BatchRecord,
        on_step: OnStep,
        patience: float,
        copy_elsewhere: CopyElsewhere | None = None,
    ) -> None:
        """Prepares the publication; calls `on_step` after each step.

        Args:
            clients: The clients that copy; the first also does the rest.
            record: The batch.
            on_step: Called after each step.
            patience: Seconds to wait for unreachable brokers while records are copied.
            copy_elsewhere: Copies in other processes instead of this one.
        """
        self._clients = clients
        self._client = clients[0]
        self._patience = patience
        self._record = record
        self._on_step = on_step
        self._copy_elsewhere = copy_elsewhere
        self._plans = [plan for plan in record.partitions if plan.parts]

    def publish(self) -> None:
        """Publishes a batch of which no record is published yet."""
        self._copy(dict.fromkeys(self._plans, 0))

    def finish(self) -> None:
        """Publishes the rest of a batch that was committed before.

        Raises:
            StreamlogError: The progress cannot be determined, or staged records are missing.
        """
        if not self._is_forgotten():
            self.copy_rest()
            self.forget()

    def copy_rest(self) -> None:
        """Publishes the rest of a batch without deleting staged records.

        Raises:
            StreamlogError: As ``finish``.
        """
        done = {plan: self._progress(plan) for plan in self._plans}
        self._check_staged(plan for plan in self._plans if done[plan] < plan.records)
        self._copy(done)

    def _is_forgotten(self) -> bool:
        """Returns true if the staged records are deleted, which happens after their publication."""
        return all(
            self._is_staged(staged) and not self._leftovers(staged)
            for staged in self._record.staged
        )

    def _was_finished_elsewhere(self) -> bool:
        """Returns true if another driver has published the whole batch meanwhile."""
        plans = [plan for plan in self._plans if self._is_staged(plan.staged)]
        kept = [
            plan for staged in {plan.staged for plan in plans} for plan in self._leftovers(staged)
        ]
        return any(plan not in kept for plan in plans)

    def _check_staged(self, left: Iterable[PartitionPlan]) -> None:
        for plan in left:
            if not self._is_staged(plan.staged):
                raise StreamlogError(
                    f"staged records are gone: batch {self._record.batch} is committed, "
                    f"{plan.target}-{plan.partition} lacks some of it, and '{plan.staged}' was "
                    "deleted; begin with a new checkpoint, and know that they are missing"
                )

    def _is_staged(self, staged: str) -> bool:
        """Returns true if the topic is the one in which the batch was staged."""
        try:
            return self._client.admin.topic(staged).id == self._record.staged[staged]
        except TopicNotFound:
            return False

    def _leftovers(self, staged: str) -> list[PartitionPlan]:
        """Returns the partitions of a staging topic with records of this or an earlier batch."""
        begins = self._client.admin.begin_offsets(staged)
        plans = [plan for plan in self._record.partitions if plan.staged == staged]
        return [plan for plan in plans if (begins[plan.partition] or 0) < plan.staged_end]

    def _stamp(self, plan: PartitionPlan) -> tuple[int, int, int]:
        return self._record.producer, self._record.epoch, plan.sequence

    def _progress(self, plan: PartitionPlan) -> int:
        """Returns the number of published records of a partition."""
        done, is_cut, is_reset = republished(
            self._client, plan.place, plan.offset, self._stamp(plan), self._patience
        )
        where = f"{plan.target}-{plan.partition}"
        if is_reset:
            raise StreamlogError(
                f"{where} ends before offset {plan.offset}, where batch {self._record.batch} was "
                "to be published: the topic was deleted and recreated; begin with a new checkpoint"
            )
        if is_cut and done == 0:
            raise StreamlogError(
                f"{where} begins behind offset {plan.offset}: retention deleted what was there, so "
                f"that nobody can tell whether batch {self._record.batch} had been published; "
                "begin with a new checkpoint, and know that this batch is missing, or was deleted"
            )
        if done > plan.records:
            raise FencedError(
                f"{where} has more than the {plan.records} records of batch {self._record.batch}: "
                "another driver of this query goes on behind it"
            )
        return done

    def _copy(self, done: dict[PartitionPlan, int]) -> None:
        while left := [plan for plan in self._plans if done[plan] < plan.records]:
            if self._copy_elsewhere is not None:
                self._copy_elsewhere(replace(self._record, partitions=tuple(left)))
                self._on_step(Step.COPIED)
                break
            try:
                done |= self._copied(left, done)
            except BrokerError as error:
                if error.name != _OUT_OF_RANGE:
                    raise
                if not self._was_finished_elsewhere():
                    raise StreamlogError(f"staged records are gone: {error}") from error
                done |= {plan: plan.records for plan in left}
            self._on_step(Step.COPIED)
        self._on_step(Step.PUBLISHED)

    def _copied(
        self, left: Sequence[PartitionPlan], done: Mapping[PartitionPlan, int]
    ) -> dict[PartitionPlan, int]:
        """Copies a step of each partition, and returns the numbers of published records.

        Each client copies its share of the partitions. An error is raised once no client copies.
        """
        count = min(len(self._clients), len(left))
        shares = [left[place::count] for place in range(count)]

        def copy(client: streamlog.Client, share: Sequence[PartitionPlan]) -> list[int]:
            rows = [self._row(plan, done[plan]) for plan in share]
            return republish(client, rows, _BATCHES_AT_ONCE, self._patience)

        with ThreadPoolExecutor(count) as pool:
            counts = list(pool.map(copy, self._clients, shares))
        return {
            plan: number
            for share, numbers in zip(shares, counts, strict=True)
            for plan, number in zip(share, numbers, strict=True)
        }

    def _row(self, plan: PartitionPlan, done: int) -> _Row:
        parts = [(part.producer, part.first, part.last, part.records) for part in plan.parts]
        return plan.staged, plan.target, plan.partition, self._stamp(plan), done, parts

    def leftover(self) -> int:
        """Counts the staged records of this batch and earlier batches that are not deleted."""
        count = 0
        for staged in filter(self._is_staged, self._record.staged):
            begins = self._client.admin.begin_offsets(staged)
            for plan in self._record.partitions:
                if plan.staged == staged:
                    count += max(0, plan.staged_end - (begins[plan.partition] or 0))
        return count

    def forget(self) -> None:
        """Deletes staged records up to the end in the record, including uncommitted ones."""
        for staged in filter(self._is_staged, self._record.staged):
            for plan in self._leftovers(staged):
                self._client.admin.delete_records(staged, plan.partition, plan.staged_end)
            self._on_step(Step.FORGOTTEN)
