"""The reader of a streaming query: plans triggers, and their ranges."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from streamlog.errors import ConfigError
from streamlog.spark.reading.logs import Logs, State
from streamlog.spark.reading.loss import Losses
from streamlog.spark.reading.offsets import Nested, Offsets, TopicPartition, nested
from streamlog.spark.reading.positions import resolve
from streamlog.spark.reading.ranges import OffsetRange, cut
from streamlog.spark.reading.records import RangeReader
from streamlog.spark.reading.settings import Reading
from streamlog.spark.reading.sizes import bytes_per_offset
from streamlog.spark.streaming.admission import Gate
from streamlog.spark.streaming.mark import Kept, Mark
from streamlog.spark.streaming.progress import Progress
from streamlog.spark.streaming.watch import Watch

if TYPE_CHECKING:
    from pyarrow import RecordBatch as _RecordBatch

__all__ = ["StreamReader"]

_WAIT_SECONDS = 0.5
"""The time to wait for new records before Spark is told that there are none."""


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a stream. Its position is stored in Spark's checkpoint alone.

    A mark moves over the records that a trigger reads, or it jumps to the beginning of a log: of a
    new partition, of a log that no longer has the old offset, or of a recreated topic. A jump has
    no records, so that a repeated trigger reads the same records. This includes the first trigger,
    for which Spark stores no start: the mark at its end has it.
    """

    def __init__(self, reading: Reading) -> None:
        """Does not contact a broker yet."""
        self.reading = reading
        self._logs = Logs(reading.connection, reading.subscription)
        self._watch = Watch(reading.connection, self._logs)
        self._gate = Gate(reading.admission, self._record_bytes)
        self._progress = Progress(self._logs, reading.group)
        self._losses = Losses(reading.fails_on_loss)
        self._target: State | None = None
        self._beginning: Kept | None = None
        self._misfit: ConfigError | None = None

    def initialOffset(self) -> Kept:
        """Returns the start of a query without a checkpoint; the same at each call.

        Spark also calls it to repeat a first trigger, whose mark has the start already. So an
        option that does not match the topics is reported only when a trigger needs it.

        Raises:
            StreamlogError: A topic does not exist.
        """
        if self._beginning is None:
            state = self._logs.ends()
            try:
                place = resolve(self.reading.start, self._logs, state.ends)
            except ConfigError as misfit:
                self._misfit, place = misfit, state.ends
            self._beginning = _mark(place, state).json()
            if self._target is not None:
                # Spark has called prepareForTriggerAvailableNow before: the end must not lie before
                # the start.
                self._target = self._logs.ends()
        return self._beginning

    def getDefaultReadLimit(self) -> ReadLimit:
        """Returns the limit of a trigger."""
        admission = self.reading.admission
        if admission.max_offsets is not None:
            return ReadMaxRows(admission.max_offsets)
        if admission.max_bytes is not None:
            return ReadMaxBytes(admission.max_bytes)
        if admission.min_offsets is not None:
            return ReadMinRows(admission.min_offsets)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """Fixes the current ends as the end of the query."""
        # Topics that are missing here may be known to the checkpoint, which Spark passes later.
        self._target = self._logs.settled()

    def latestOffset(self, start: Kept, limit: ReadLimit) -> Kept:
        """Returns the end of the next trigger, or its start if there are no records for a while.

        Raises:
            StreamlogError: An option does not match the topics, or records are lost.
        """
        self._check(start)
        begun = Mark.of(start)
        # Spark asks for the offsets after `start` only when all before it are done.
        self._progress.store(begun.offsets)
        state = self._state_after(begun)
        jump = self._jump(begun, state)
        if jump is not None:
            return self._end(start, jump, jump.offsets)
        if not self._is_due(begun.offsets, state):
            return self._end(start, begun, begun.offsets)
        end = _mark(self._gate.admit(begun.offsets, state.ends, limit), state)
        return self._end(start, end, begun.offsets)

    def reportLatestOffset(self) -> Nested | None:
        """Returns the last known ends, without ids."""
        state = self._watch.known or self._target
        return None if state is None else nested(state.ends)

    def partitions(self, start: Kept, end: Kept) -> Sequence[InputPartition]:
        """Returns the ranges of offsets of a trigger, one for each task."""
        begun, done = Mark.of(start), Mark.of(end)
        if done.began is not None and start != end:
            begun = Mark(done.began, done.ids)
        else:
            self._check(start)
        renewed = begun.renewed(done.ids)
        ranges = [
            OffsetRange(*place, begun.offsets[place], stop, done.ids.get(place[0]))
            for place, stop in sorted(done.offsets.items())
            if begun.offsets.get(place, stop) < stop and place[0] not in renewed
        ]
        return cut(ranges, self.reading.split, self._mean_bytes)

    def read(self, partition: InputPartition) -> Iterator["_RecordBatch"]:
        """Reads the records of a range."""
        if not isinstance(partition, OffsetRange):
            return iter(())
        return RangeReader.of(self.reading, partition).batches()

    def commit(self, end: Kept) -> None:
        """Does nothing: Spark's checkpoint has the position."""

    def stop(self) -> None:
        """Stops waiting for records."""
        self._watch.close()

    def _check(self, start: Kept) -> None:
        if self._misfit is not None and start == self._beginning:
            raise self._misfit

    def _state_after(self, begun: Mark) -> State:
        def absent(state: State) -> set[TopicPartition]:
            return self._absent(begun, state)

        if self._target is not None:
            if absent(self._target):
                self._target = self._logs.present(absent, self._logs.state)
            # Topics that stay absent are losses.
            self._logs.require(self._target, {topic for topic, _ in absent(self._target)})
            return self._target
        old = begun.offsets
        state = self._watch.newer(State(ends=old), _WAIT_SECONDS)
        if state.ends != old and not self._gate.is_worth_it(old, state.ends):
            # There are records, but fewer than the minimum: wait for more.
            state = self._watch.newer(state, _WAIT_SECONDS)
        if absent(state):
            state = self._logs.present(absent, self._watch.look)
        return state

    def _absent(self, begun: Mark, state: State) -> set[TopicPartition]:
        """Returns the partitions that the state lacks, unless their topic was recreated."""
        renewed = begun.renewed(state.ids)
        lacking = begun.offsets.keys() - state.ends.keys()
        selects = self.reading.subscription.selects
        return {place for place in lacking if place[0] not in renewed and selects(place)}

    def _is_due(self, begun: Offsets, state: State) -> bool:
        return self._target is not None or self._gate.is_worth_it(begun, state.ends)

    def _jump(self, begun: Mark, state: State) -> Mark | None:
        """Returns the mark after a jump, if a partition is new or was replaced."""
        old, ends = begun.offsets, state.ends
        renewed = begun.renewed(state.ids)
        for place in sorted(set(old) - set(ends)):
            if self.reading.subscription.selects(place):
                self._losses.gone(place, old[place])
            else:
                self._losses.gone(place, old[place], "the options do not select it any more")
        both = set(old) & set(ends)
        again = {place for place in both if place[0] in renewed or old[place] > ends[place]}
        fresh = set(ends) - set(old)
        begins = self._logs.begins({topic for topic, _ in again | fresh}) if again | fresh else {}
        for place in sorted(again):
            if place[0] in renewed:
                self._losses.gone(place, old[place])
            else:
                self._losses.outside(place, old[place], (begins.get(place, 0), ends[place]))
        for place in sorted(fresh):
            if begins.get(place, 0) > 0:
                what = " (the partition is new to this query)"
                self._losses.outside(place, 0, (begins[place], ends[place]), what)
        self._losses.see(ends)
        kept = {place: old[place] for place in both - again}
        jump = _mark(kept | {place: begins.get(place, 0) for place in again | fresh}, state)
        return None if jump == begun else jump

    def _end(self, start: Kept, end: Mark, began: Offsets) -> Kept:
        """Returns the end of a trigger; for the first one, with its start."""
        if start != self._beginning:
            return start if end == Mark.of(start) else end.json()
        return replace(end, began=began).json()

    def _record_bytes(self, place: TopicPartition, start: int, stop: int) -> float:
        return self._mean_bytes(OffsetRange(*place, start, stop))

    def _mean_bytes(self, part: OffsetRange) -> float:
        return bytes_per_offset(self.reading.connection, part)


def _mark(offsets: Offsets, state: State) -> Mark:
    """Returns the mark at these offsets, with the ids of the topics."""
    return Mark(offsets, {topic: state.ids[topic] for topic, _ in offsets})
