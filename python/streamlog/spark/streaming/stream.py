"""The reader of a stream: how far it can go, and what lies between two triggers."""

from collections.abc import Iterator, Sequence
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

from streamlog.spark.reading.logs import Logs, State
from streamlog.spark.reading.loss import Losses
from streamlog.spark.reading.offsets import Nested, Offsets, Place, flat, nested
from streamlog.spark.reading.places import place_of
from streamlog.spark.reading.ranges import OffsetRange, cut
from streamlog.spark.reading.records import Task
from streamlog.spark.reading.settings import Reading
from streamlog.spark.reading.sizes import bytes_per_offset
from streamlog.spark.streaming.admission import Gate
from streamlog.spark.streaming.progress import Progress
from streamlog.spark.streaming.watch import Watch

if TYPE_CHECKING:
    from pyarrow import RecordBatch as _RecordBatch

__all__ = ["StreamReader"]

_WAIT_SECONDS = 0.5
"""For so long it is waited for something new before Spark is told that there is nothing."""


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads on. What was read is known by Spark's checkpoint alone.

    Offsets in a checkpoint only ever move over what a trigger reads, or jump: to the beginning of a
    partition that is new, or of one whose log does not have the old offset any more. A jump has no
    records, so that a trigger that is done again reads the same.
    """

    def __init__(self, reading: Reading) -> None:
        """No broker is asked yet."""
        self.reading = reading
        self._logs = Logs(reading.connection, reading.subscription)
        self._watch = Watch(reading.connection, self._logs)
        self._gate = Gate(reading.admission, self._record_bytes)
        self._progress = Progress(self._logs, reading.group)
        self._losses = Losses(reading.fails_on_loss)
        self._target: State | None = None
        self._ids: dict[str, str] = {}

    def initialOffset(self) -> Nested:
        """Where a query begins that has no checkpoint.

        Raises:
            StreamlogError: A topic is not there, or an option does not fit it.
        """
        ends = self._logs.ends().ends
        return nested(place_of(self.reading.start, self._logs, ends))

    def getDefaultReadLimit(self) -> ReadLimit:
        """How much a trigger takes."""
        admission = self.reading.admission
        if admission.max_offsets is not None:
            return ReadMaxRows(admission.max_offsets)
        if admission.max_bytes is not None:
            return ReadMaxBytes(admission.max_bytes)
        if admission.min_offsets is not None:
            return ReadMinRows(admission.min_offsets)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """What there is now is all that will be read."""
        self._target = self._logs.ends()

    def latestOffset(self, start: Nested, limit: ReadLimit) -> Nested:
        """Where the next trigger ends; where it begins, if there is nothing new for a while."""
        begun = flat(start)
        # Spark asks for what follows `start` once everything before it is done.
        self._progress.store(begun)
        state = self._state_after(begun)
        jumps = self._jumps(begun, state)
        if jumps is not None:
            return nested(jumps)
        if not self._is_due(begun, state):
            return start
        return nested(self._gate.admit(begun, state.ends, limit))

    def reportLatestOffset(self) -> Nested | None:
        """The ends that were last seen."""
        state = self._watch.known or self._target
        return None if state is None else nested(state.ends)

    def partitions(self, start: Nested, end: Nested) -> Sequence[InputPartition]:
        """The ranges of offsets of a trigger, one for each task."""
        begun, ends = flat(start), flat(end)
        ranges = [
            OffsetRange(*place, begun[place], stop, self._ids.get(place[0]))
            for place, stop in sorted(ends.items())
            if begun.get(place, stop) < stop
        ]
        return cut(ranges, self.reading.split, self._mean_bytes)

    def read(self, partition: InputPartition) -> Iterator["_RecordBatch"]:
        """The records of a range."""
        if not isinstance(partition, OffsetRange):
            return iter(())
        return Task(self.reading, partition).batches()

    def commit(self, end: Nested) -> None:
        """Nothing to do: Spark's checkpoint knows it."""

    def stop(self) -> None:
        """Waits for nothing any more."""
        self._watch.close()

    def _state_after(self, begun: Offsets) -> State:
        if self._target is not None:
            return self._target
        state = self._watch.newer(State(ends=begun), _WAIT_SECONDS)
        if state.ends != begun and not self._gate.is_worth_it(begun, state.ends):
            # There is something, and it has to wait for more.
            state = self._watch.newer(state, _WAIT_SECONDS)
        return state

    def _is_due(self, begun: Offsets, state: State) -> bool:
        return self._target is not None or self._gate.is_worth_it(begun, state.ends)

    def _jumps(self, begun: Offsets, state: State) -> Offsets | None:
        """Where partitions begin that are new or not what they were, if there are any."""
        ends = state.ends
        renewed = {topic for topic, id in state.ids.items() if self._ids.get(topic, id) != id}
        for place in sorted(set(begun) - set(ends)):
            self._losses.gone(place, begun[place])
        again = {
            place
            for place in set(begun) & set(ends)
            if place[0] in renewed or begun[place] > ends[place]
        }
        fresh = set(ends) - set(begun)
        begins = self._logs.begins({topic for topic, _ in again | fresh}) if again | fresh else {}
        for place in sorted(again):
            if place[0] in renewed:
                self._losses.gone(place, begun[place])
            else:
                self._losses.outside(place, begun[place], (begins.get(place, 0), ends[place]))
        for place in sorted(fresh):
            if begins.get(place, 0) > 0:
                what = " (the partition is new to this query)"
                self._losses.outside(place, 0, (begins[place], ends[place]), what)
        self._ids = dict(state.ids)
        if not again and not fresh and set(begun) == set(ends):
            return None
        kept = {place: begun[place] for place in ends if place in begun and place not in again}
        return kept | {place: begins.get(place, 0) for place in again | fresh}

    def _record_bytes(self, place: Place, start: int, stop: int) -> float:
        return self._mean_bytes(OffsetRange(*place, start, stop))

    def _mean_bytes(self, part: OffsetRange) -> float:
        return bytes_per_offset(self.reading.connection, part)
