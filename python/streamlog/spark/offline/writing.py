"""Execution of a range: from the log into a Parquet file for each date of its records."""

from streamlog.spark.offline.dated import DatedFiles
from streamlog.spark.offline.job import Job, Outcome
from streamlog.spark.offline.ledger import Ledger
from streamlog.spark.offline.losses import Gone, RangeLosses
from streamlog.spark.reading.columns import ARROW_NAMES, HEADERS
from streamlog.spark.reading.ranges import OffsetRange
from streamlog.spark.reading.records import RangeReader

__all__ = ["write_range"]

_COLUMNS = ("partition", "offset", "timestamp", "timestampType", "key", "value", HEADERS)
"""The columns of the files; their path has the topic."""


def write_range(job: Job, index: int) -> Outcome:
    """Loads a range; repeated executions produce the same files."""
    ledger = Ledger(job.path)
    losses = RangeLosses(job.fail_on_data_loss)
    with DatedFiles(ledger, job, index) as files:
        try:
            while files.begin():
                for batch in _reader(job, index, losses).batches():
                    files.add(batch)
                files.publish()
        except Gone as gone:
            # An earlier pass may have published files, which stay. If losses are errors, the range
            # remains unfinished.
            if job.fail_on_data_loss:
                return Outcome(index, losses=(gone.loss,), is_done=False)
            losses.noted.append(gone.loss)
        outcome = Outcome(index, files.records, files.published, files.size, tuple(losses.noted))
    ledger.receive(job.plan, index, outcome.to_json())
    return outcome


def _reader(job: Job, index: int, losses: RangeLosses) -> RangeReader:
    part, plan = job.plan.ranges[index], job.plan
    topic_id = plan.places[part.topic].id
    wanted = OffsetRange(part.topic, part.partition, part.start, part.stop, topic_id)
    columns = {ARROW_NAMES[name]: name for name in _COLUMNS}
    return RangeReader(job.connection, wanted, columns, losses)
