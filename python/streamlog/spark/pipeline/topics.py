"""The topics of a job: their options, and what the brokers know of them, before Spark starts."""

from collections.abc import Callable, Iterator

import streamlog
from streamlog.errors import ConfigError, MissingExtra, TopicNotFound
from streamlog.spark.pipeline.job import Job
from streamlog.spark.pipeline.sink import Sink
from streamlog.spark.pipeline.source import Source

__all__ = ["check_options", "check_topics"]


def check_options(job: Job) -> None:
    """Checks the options of all topics; no broker is asked.

    Raises:
        ConfigError: Options are unknown or do not fit, each with its place in the file.
        MissingExtra: PySpark is not installed.
    """
    try:
        faults = [
            *_faults(job.sources, Source.check_options),
            *_faults(job.sinks, Sink.check_options),
        ]
    except ImportError as error:
        message = "Pipelines run on PySpark, which is missing: pip install 'pyspark>=4.2,<5'"
        raise MissingExtra(message) from error
    if faults:
        raise ConfigError("\n".join(faults))


def check_topics(job: Job) -> None:
    """Asks the brokers for the topics and partitions that the job names.

    Raises:
        ConnectError: A cluster cannot be reached.
        TopicNotFound: Topics or partitions do not exist, each with its place in the file.
        ConfigError: A place to begin or end at names other partitions than are read.
    """
    for address in sorted(job.clusters):
        with streamlog.connect(address) as client:
            client.admin.topics()
    faults = list(_faults(job.sources, Source.check_topics))
    faults += _faults(job.sinks, Sink.check_topic)
    if faults:
        raise TopicNotFound("\n".join(faults))


def _faults(
    parts: tuple[Source, ...] | tuple[Sink, ...], check: Callable[..., None]
) -> Iterator[str]:
    for part in parts:
        try:
            check(part)
        except (ConfigError, TopicNotFound) as error:
            yield f"{part.place}: {error}"
