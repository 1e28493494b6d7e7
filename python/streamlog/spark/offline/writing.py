"""Carrying out a range: from the log into one Parquet file for each date of its records."""

from streamlog.spark.offline.dated import DatedFiles
from streamlog.spark.offline.fetching import Gone, Reading
from streamlog.spark.offline.job import Job, Outcome
from streamlog.spark.offline.ledger import Ledger

__all__ = ["write_range"]


def write_range(job: Job, index: int) -> Outcome:
    """Carries out a range; done once or more often, the files are the same."""
    reading = Reading(job, index)
    ledger = Ledger(job.path)
    with DatedFiles(ledger, job, index) as files:
        try:
            while files.begin():
                for batch in reading.batches():
                    files.add(batch)
                reading.check()
                files.publish()
        except Gone as gone:
            # Files may have appeared already, by other passes: they stay, and so does the range.
            if job.fail_on_data_loss:
                return Outcome(index, losses=(gone.loss,), is_done=False)
            reading.losses.append(gone.loss)
        outcome = Outcome(index, files.records, files.published, files.size, tuple(reading.losses))
    ledger.receive(job.plan, index, outcome.to_json())
    return outcome
