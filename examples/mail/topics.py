"""The topics, and the size limits of mails."""

from datetime import timedelta

import streamlog
from mail import config

LARGEST_BYTES = 32 * 2**20
"""The limit of a batch, max.message.bytes, in all topics but that of ordinary mails."""
MAIL_BYTES = LARGEST_BYTES - 16 * 2**10
"""The limit of a mail, or of its reading, without key, headers and framing."""
SMALL_BYTES = 2**20 - 16 * 2**10
"""The limit of a mail in the topic of ordinary mails."""


def connect(settings: config.Config) -> streamlog.Client:
    """Returns a client of the brokers, after creating missing topics."""
    client = streamlog.connect(settings.broker.address or None)
    topics = settings.topics
    large: dict[str, str | int] = {"max.message.bytes": LARGEST_BYTES}
    # A mail can have tens of thousands of prices. Of several readings, only the last is kept.
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
