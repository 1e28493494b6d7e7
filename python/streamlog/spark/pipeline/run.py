"""The execution of a job: all views are created before any query starts."""

import time
from collections.abc import Callable, Iterable
from functools import partial
from threading import Event, Thread
from typing import TYPE_CHECKING

from streamlog.errors import ConfigError, MissingExtra
from streamlog.spark.pipeline.job import Job
from streamlog.spark.pipeline.progress import ROWS, Progress
from streamlog.spark.pipeline.reasons import reason_of
from streamlog.spark.pipeline.sink import Sink
from streamlog.spark.pipeline.source import Source
from streamlog.spark.pipeline.step import Step

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["Run"]

_GLANCE_SECONDS = 0.2


class Run:
    """The execution of a job in a session."""

    def __init__(
        self,
        job: Job,
        session: "SparkSession",
        *,
        tell: Callable[[str], None],
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        """Creates every view, so that invalid views are found before anything starts.

        Args:
            job: The job; its options have been checked.
            session: The session to run in.
            tell: Prints a line for the user.
            is_stopped: Returns true to stop the job; called several times a second.

        Raises:
            ConfigError: A source, a step or a sink is refused; the message names it.
        """
        self._job = job
        self._session = session
        self._tell = tell
        self._is_stopped = is_stopped
        self._views: dict[str, DataFrame] = {}
        self._undecoded: dict[str, DataFrame] = {}
        # Each sink is a separate query with its own position. A shared group would have the offsets
        # of the last commit only, and hide the lag of the other queries.
        shared = [source for source in job.sources if source.has_group and len(job.sinks) > 1]
        self._make([source for source in job.sources if source not in shared], ())
        self._rows: dict[str, DataFrame] = {}
        for sink in job.sinks:
            if shared or not self._rows:
                self._make([source.for_sink(sink.name) for source in shared], job.steps)
            self._rows[sink.name] = self._of(sink)

    def go(self) -> bool:
        """Runs the job until its end or until it is stopped; returns true at its end.

        Raises:
            Exception: An error of Spark, unchanged; streams are stopped first.
        """
        return self._write_all() if self._job.stream is None else self._stream_all()

    def _make(self, sources: Iterable[Source], steps: Iterable[Step]) -> None:
        for source in sources:
            self._add(source, partial(source.open, self._session))
        for step in steps:
            self._add(step, partial(step.table, self._session, self._views))

    def _add(self, view: Source | Step, make: "Callable[[], DataFrame]") -> None:
        from streamlog.spark import functions

        try:
            table = make()
            if isinstance(view, Source) and view.decoding is not None:
                table = view.decoding.of(table)
            if view.decoding is not None:
                self._undecoded[view.name] = table
                is_kept = view.decoding.dead_letters is not None
                table = (functions.decoded if is_kept else functions.strictly_decoded)(table)
            if view.watermark is not None:
                table = table.withWatermark(view.watermark.time, view.watermark.delay.text)
            table.createOrReplaceTempView(view.name)
        except MissingExtra:
            raise
        except Exception as error:
            raise ConfigError(f"{view.place}: {reason_of(error)}") from error
        self._views[view.name] = table

    def _of(self, sink: Sink) -> "DataFrame":
        views = self._undecoded if sink.are_letters else self._views
        try:
            rows = sink.rows(views[sink.view])
            if sink.folders and set(sink.folders) - set(rows.columns):
                missing = ", ".join(sorted(set(sink.folders) - set(rows.columns)))
                raise ConfigError(f"by: '{sink.view}' has no column {missing}")
            sink.check_columns(rows)
        except Exception as error:
            raise ConfigError(f"{sink.place}: {reason_of(error)}") from error
        is_stream = self._job.stream is not None
        if rows.isStreaming != is_stream:
            message = "its rows are no stream: all its sources are static"
            raise ConfigError(f"{sink.place}: {message}")
        return rows

    def _write_all(self) -> bool:
        is_over = Event()
        watcher = Thread(target=self._cancel_when_stopped, args=[is_over], daemon=True)
        watcher.start()
        try:
            for sink in self._job.sinks:
                begun = time.monotonic()
                rows = self._write(sink)
                self._tell(f"{sink.name}: {rows:,} rows, {time.monotonic() - begun:.1f} s")
                if self._is_stopped():
                    return sink is self._job.sinks[-1]
        except Exception:
            if self._is_stopped():
                return False
            raise
        finally:
            is_over.set()
            watcher.join()
        return True

    def _cancel_when_stopped(self, is_over: Event) -> None:
        """Cancels Spark's work on a stop: the writing thread is blocked until its jobs end."""
        while not is_over.wait(_GLANCE_SECONDS):
            if self._is_stopped():
                self._cancel()

    def _write(self, sink: Sink) -> int:
        from pyspark.sql import Observation
        from pyspark.sql import functions as F

        counted = Observation(ROWS)
        sink.write(self._rows[sink.name].observe(counted, F.count(F.lit(1)).alias("rows")))
        return int(counted.get.get("rows", 0))

    def _cancel(self) -> None:
        if self._job.is_on_connect:
            self._session.interruptAll()
        else:
            self._session.sparkContext.cancelAllJobs()

    def _stream_all(self) -> bool:
        started: list[Progress] = []
        try:
            for sink in self._job.sinks:
                started.append(Progress(sink.name, self._started(sink)))
            return self._watch(started)
        finally:
            for progress in started:
                progress.query.stop()

    def _watch(self, started: list[Progress]) -> bool:
        """Reports progress until all queries have ended, one has failed, or the job is stopped."""
        while not self._is_stopped():
            # Read the states before the progress, so that the last batches of an ended query are
            # reported.
            is_active = [progress.query.isActive for progress in started]
            for progress in started:
                for line in progress.news():
                    self._tell(line)
                failure = progress.query.exception()
                if failure is not None:
                    raise failure
            if not any(is_active):
                return True
            time.sleep(_GLANCE_SECONDS)
        return False

    def _started(self, sink: Sink) -> "StreamingQuery":
        """Starts the query of a sink; Spark checks some rules of streams only now."""
        from pyspark.errors import AnalysisException

        try:
            return self._start(sink)
        except AnalysisException as error:
            raise ConfigError(f"{sink.place}: {reason_of(error)}") from error

    def _start(self, sink: Sink) -> "StreamingQuery":
        from pyspark.sql import functions as F

        stream = self._job.stream
        assert stream is not None
        rows = self._rows[sink.name].observe(ROWS, F.count(F.lit(1)).alias("rows"))
        writer = rows.writeStream.queryName(f"{self._job.name}.{sink.name}")
        writer = writer.outputMode(sink.output)
        writer = writer.option("checkpointLocation", f"{stream.checkpoint}/{sink.name}")
        if stream.trigger == "once":
            writer = writer.trigger(once=True)
        elif stream.trigger == "available-now":
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=stream.trigger)
        if sink.kind == "jdbc":
            return writer.foreachBatch(lambda batch, _: sink.write(batch)).start()
        writer = writer.format(sink.format).options(**sink.options)
        if sink.folders:
            writer = writer.partitionBy(*sink.folders)
        return writer.start(sink.where) if sink.kind == "files" else writer.start()
