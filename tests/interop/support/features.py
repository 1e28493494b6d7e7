"""The features tried with every client: the rows of the compatibility page, in order."""

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
ACKS = ("0", "1", "all")

FEATURES = {
    "create": "create a topic with partitions and settings",
    "delete": "delete a topic",
    "auto create": "produce to a topic that the broker creates for that",
    **{f"produce {c} acks={a}": f"produce, {c}, acks={a}" for c in CODECS for a in ACKS},
    "idempotent": "idempotent producer",
    "null key": "null and empty keys, empty values",
    "tombstone": "tombstones (null values)",
    "headers": "headers, of any bytes or empty",
    "repeated headers": "several headers of one name, in order",
    "null headers": "headers without a value",
    "timestamp": "the producer's timestamps",
    "mixed sizes": "10 MB of mixed sizes, 0 bytes to 900 KB",
    "from start": "consume from the start",
    "from end": "consume from the end",
    "from offset": "consume from an offset",
    "from time": "consume from a time",
    "seek": "seek back and forth",
    "commit": "commit, leave, and resume as another member",
    "group": "group of three, one killed: the others take over, nothing is lost",
    "overtaken": "a group goes on by itself where retention has removed its offset",
    "unknown topic": "error: unknown topic",
    "too large": "error: record too large for the topic",
    "out of range": "error: offset out of range",
}

# On three brokers of which one is killed.
FAILOVER = "failover"


def reading(writer: str, codec: str) -> str:
    """The cell of a client that reads what another has written."""
    return f"read {writer} {codec}"
