"""The topics: which there are, and how large a mail may be."""

from datetime import timedelta

import streamlog
from mail import config

LARGEST_BYTES = 32 * 2**20
"""Of a batch in all topics but that of ordinary mails; Kafka's name for it is max.message.bytes."""
MAIL_BYTES = LARGEST_BYTES - 16 * 2**10
"""Of a mail, or of what it says: key, headers and framing come on top."""
SMALL_BYTES = 2**20 - 16 * 2**10
"""Of a mail in the topic of ordinary ones."""


def connect(settings: config.Config) -> streamlog.Client:
    """A client of the brokers; the topics are made if they are not there."""
    client = streamlog.connect(settings.broker.address or None)
    topics = settings.topics
    large: dict[str, str | int] = {"max.message.bytes": LARGEST_BYTES}
    # A mail can have prices by the ten thousand. Of one that was read again only the last reading
    # has to be kept.
    compacted = {**large, "cleanup.policy": "compact,delete"}
    ordinary: dict[str, str | int] = {}
    for name, more in (
        (topics.mails, ordinary),
        (topics.attachments, large),
        (topics.unread, large),
        (topics.prices, compacted),
    ):
        client.admin.create_topic(
            name,
            partitions=topics.partitions,
            retention=timedelta(days=topics.keep_days),
            config=more,
            exist_ok=True,
        )
    return client
