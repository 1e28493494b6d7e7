"""Checks of a job's topics: their options, and their existence, before Spark starts."""

from collections.abc import Callable, Iterator

import streamlog
from streamlog.errors import ConfigError, MissingExtra, TopicNotFound
from streamlog.spark.pipeline.job import Job
from streamlog.spark.pipeline.sink import Sink
from streamlog.spark.pipeline.source import Source

__all__ = ["check_options", "check_topics"]


def check_options(job: Job) -> None:
    """Checks the options of all topics without contacting a broker.

    Raises:
        ConfigError: Options are unknown or invalid, each with its position in the file.
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
    """Checks with the brokers that the topics and partitions of the job exist.

    Raises:
        ConnectError: A cluster cannot be reached.
        TopicNotFound: Topics or partitions do not exist, each with its place in the file.
        ConfigError: The start or the end does not name exactly the partitions that are read.
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
