"""Publishing a batch that is committed, and finishing one that was left half published."""

from collections.abc import Callable, Iterable
from enum import Enum, auto

import streamlog
from streamlog._core.republishing import republish, republished
from streamlog.errors import (
    BrokerError,
    FencedError,
    StreamlogError,
    TopicNotFound,
)
from streamlog.spark.sink.exactly.record import BatchRecord, PartitionPlan

__all__ = ["OnStep", "Publication", "Step"]

_OUT_OF_RANGE = "OFFSET_OUT_OF_RANGE"
_BATCHES_AT_ONCE = 1 << 62
"""Batches of each partition between two steps: all there are. Tests take fewer."""


class Step(Enum):
    """What has just been done of a commit."""

    STAGED = auto()
    """The rows are staged, and nothing says that they count."""
    COMMITTED = auto()
    """The record of the batch is in the commit log."""
    COPIED = auto()
    """A stretch of the batch is in the target, and perhaps not all."""
    PUBLISHED = auto()
    """All of it is, and nothing says so yet; the staged records are still there."""
    FINISHED = auto()
    """The commit log says so."""
    FORGOTTEN = auto()
    """The staged records of a topic are deleted."""


OnStep = Callable[[Step], None]


class Publication:
    """The records of one committed batch, on their way from staging topics to their targets."""

    def __init__(
        self, client: streamlog.Client, record: BatchRecord, on_step: OnStep, patience: float
    ) -> None:
        """Prepares the publication; `on_step` is told after each step.

        Args:
            client: The client that publishes.
            record: The batch.
            on_step: Told after each step.
            patience: For how many seconds brokers may be away while records are copied.
        """
        self._client = client
        self._patience = patience
        self._record = record
        self._on_step = on_step
        self._plans = [plan for plan in record.partitions if plan.parts]

    def publish(self) -> None:
        """Publishes a batch of which nothing is published yet."""
        self._copy(dict.fromkeys(self._plans, 0))

    def finish(self) -> None:
        """Publishes what is left of a batch that was committed before.

        Raises:
            StreamlogError: It cannot be told how far it got, or what was staged is gone.
        """
        if self._is_forgotten():
            return
        done = {plan: self._progress(plan) for plan in self._plans}
        self._check_staged(plan for plan in self._plans if done[plan] < plan.records)
        self._copy(done)
        self.forget()

    def _is_forgotten(self) -> bool:
        """Whether the staged records are deleted, which happens once all of them are published."""
        return all(
            self._is_staged(staged) and not self._leftovers(staged)
            for staged in self._record.staged
        )

    def _was_finished_elsewhere(self) -> bool:
        """Whether another driver has published all of the batch meanwhile, and forgets it."""
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
        """Whether the topic is the one that the batch was staged in."""
        try:
            return self._client.admin.topic(staged).id == self._record.staged[staged]
        except TopicNotFound:
            return False

    def _leftovers(self, staged: str) -> list[PartitionPlan]:
        """The partitions of a staging topic that still have records of this batch or before."""
        begins = self._client.admin.begin_offsets(staged)
        plans = [plan for plan in self._record.partitions if plan.staged == staged]
        return [plan for plan in plans if (begins[plan.partition] or 0) < plan.staged_end]

    def _stamp(self, plan: PartitionPlan) -> tuple[int, int, int]:
        return self._record.producer, self._record.epoch, plan.sequence

    def _progress(self, plan: PartitionPlan) -> int:
        """How many records of a partition are published."""
        done, is_cut, is_reset = republished(
            self._client, plan.place, plan.offset, self._stamp(plan), self._patience
        )
        where = f"{plan.target}-{plan.partition}"
        if is_reset:
            raise StreamlogError(
                f"{where} ends before offset {plan.offset}, where batch {self._record.batch} was "
                "to be published: the topic was deleted and made anew; begin with a new checkpoint"
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
            rows = [
                (
                    plan.staged,
                    plan.target,
                    plan.partition,
                    self._stamp(plan),
                    done[plan],
                    [(part.producer, part.first, part.last, part.records) for part in plan.parts],
                )
                for plan in left
            ]
            try:
                counts = republish(self._client, rows, _BATCHES_AT_ONCE, self._patience)
            except BrokerError as error:
                if error.name != _OUT_OF_RANGE:
                    raise
                if not self._was_finished_elsewhere():
                    raise StreamlogError(f"staged records are gone: {error}") from error
                counts = [plan.records for plan in left]
            done.update(zip(left, counts, strict=True))
            self._on_step(Step.COPIED)
        self._on_step(Step.PUBLISHED)

    def leftover(self) -> int:
        """Counts the staged records of this batch and those before that are not deleted."""
        count = 0
        for staged in filter(self._is_staged, self._record.staged):
            begins = self._client.admin.begin_offsets(staged)
            for plan in self._record.partitions:
                if plan.staged == staged:
                    count += max(0, plan.staged_end - (begins[plan.partition] or 0))
        return count

    def forget(self) -> None:
        """Deletes what is staged up to the end that the record knows: also what never counted."""
        for staged in filter(self._is_staged, self._record.staged):
            for plan in self._leftovers(staged):
                self._client.admin.delete_records(staged, plan.partition, plan.staged_end)
            self._on_step(Step.FORGOTTEN)
