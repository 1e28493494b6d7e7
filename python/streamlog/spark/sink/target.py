"""The check of a write's topic, on the driver before the first row is written."""

from streamlog.errors import TopicNotFound
from streamlog.spark.clients import client_of
from streamlog.spark.patience import patiently
from streamlog.spark.sink.settings import Settings

__all__ = ["check_target"]


def check_target(settings: Settings) -> None:
    """Checks that the topic exists, if a topic created by a producer would not suffice.

    A producer makes a topic with the broker's default number of partitions. Rows that name other
    partitions would fail after other rows had been written.

    Raises:
        TopicNotFound: The topic does not exist.
    """
    topic, connection = settings.topic, settings.connection
    if settings.is_exactly_once:
        needs = "exactlyOnce writes to topics that are there"
    elif "partition" in settings.columns:
        needs = "the rows name partitions, so the topic has to be there with as many"
    else:
        return
    if topic is None:
        # Each row has its own topic.
        return
    client = client_of(connection)
    try:
        patiently(connection, lambda: client.admin.topic(topic))
    except TopicNotFound as error:
        raise TopicNotFound(f"{error}; {needs}") from error
