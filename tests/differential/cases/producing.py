"""Batches on their way in: what is taken, and what is refused with which error."""

from differential.support import stage
from differential.support.ask import Ask
from differential.support.batches import TIME, Producer, Row, batch, batch_of
from differential.support.both import Both
from differential.support.cases import about
from differential.support.stage import Topic, produced

FAR_AHEAD = 100 * TIME
ZSTD = 4


def ask_to(ask: Ask, what: str, topic: Topic, records: bytes | None, **fields: object) -> None:
    """Produces to the first partition and compares the answer."""
    body = {"acks": -1, "timeoutMs": 5000, "topicData": [produced(topic, records)]}
    ask(what, **{**body, **fields})


@about("Produce")
def produce(ask: Ask) -> None:
    """Batches that are taken, and where they go."""
    topic = stage.topic(ask, partitions=2)
    ask_to(ask, "acks=all", topic, batch([b"a", b"b"]))
    ask_to(ask, "acks=1", topic, batch([b"c"]), acks=1)
    ask_to(ask, "a tombstone", topic, batch([None]))
    ask_to(ask, "a time before 1970", topic, batch([b"x"], time=-1))
    rows = [produced(topic, batch([b"p"])), produced(topic, batch([b"q"]), index=1)]
    both = [{**rows[0], "partitionData": [row["partitionData"][0] for row in rows]}]
    ask_to(ask, "two partitions", topic, None, topicData=both)
    ask_to(ask, "nothing", topic, None, topicData=[])
    mixed = [produced(topic, batch([b"m"])), produced(stage.ABSENT, batch([b"m"]))]
    ask_to(ask, "one good, one absent topic", topic, None, topicData=mixed)
    for acks in (2, -2):
        ask_to(ask, f"acks={acks}", topic, batch([b"x"]), acks=acks)
    ask_to(ask, "an absent topic", stage.ABSENT, batch([b"x"]))
    absent = [produced(topic, batch([b"x"]), index=7)]
    ask_to(ask, "an absent partition", topic, None, topicData=absent)
    stamped = stage.topic(ask, "stamped", message_timestamp_type="LogAppendTime")
    ask_to(ask, "to a topic with its own time", stamped, batch([b"x"]))


@about("Produce")
def produce_wrongly(ask: Ask) -> None:
    """Batches that are refused."""
    topic = stage.topic(ask)
    good = batch([b"a", b"b"])
    # Not null: Apache Kafka stumbles over it and never answers.
    refused = {
        "no bytes": b"",
        "a wrong checksum": batch([b"a"], crc=1),
        "magic 1": batch([b"a"], magic=1),
        "magic 3": batch([b"a"], magic=3),
        "a base offset": batch([b"a"], baseOffset=5),
        "a wrong count": batch([b"a", b"b"], recordsCount=3),
        "a negative count": batch([b"a", b"b"], recordsCount=-1),
        "a count of 0": batch([]),
        "a wrong last offset": batch([b"a", b"b"], lastOffsetDelta=5),
        "a control batch": batch([b"a"], attributes=0x20),
        "an unknown codec": batch([b"a"], attributes=5),
        "a codec that the bytes are not of": batch([b"a"], attributes=1),
        "append time": batch([b"a"], attributes=8),
        "two batches": good + good,
        "a batch cut short": good[:-3],
        "a header cut short": good[:40],
        "bytes behind a batch": good + b"\0\0",
        "a length that is too small": batch([b"a"], batchLength=20),
        "a time far ahead": batch([b"a"], time=FAR_AHEAD),
        "a producer without a sequence": batch([b"a"], producer=Producer(5, 0, -1)),
        "a transaction's batch": batch([b"a"], attributes=0x10, producer=Producer(5, 0, 0)),
        "too many bytes": batch([b"x" * 2_000_000]),
    }
    for what, records in refused.items():
        ask_to(ask, what, topic, records)
    ask_to(ask, "a plain batch in a transaction", topic, good, transactionalId=ask.name("t"))
    compacted = stage.topic(ask, "compacted", cleanup_policy="compact")
    ask_to(ask, "no key to a compacted topic", compacted, batch([b"a"], key=None))
    keyless, late = Row(key=None), Row(after=FAR_AHEAD)
    bad = {
        "two of four without a key": [Row(), keyless, Row(), keyless],
        "two of four too late": [Row(), late, Row(), late],
        "one without a key, one too late": [keyless, Row(), late],
        "one both": [Row(), Row(key=None, after=FAR_AHEAD)],
    }
    for what, rows in bad.items():
        ask_to(ask, what, compacted, batch_of(rows))
    small = stage.topic(ask, "small", max_message_bytes="100")
    ask_to(ask, "more than the topic takes", small, batch([b"x" * 100]))
    internal = Topic("__consumer_offsets", Both(stage.ABSENT_ID, stage.ABSENT_ID))
    if ask.version < 13:
        ask_to(ask, "an internal topic", internal, batch([b"a"]))
    offsets = [{"name": topic.name, "partitions": [{"partitionIndex": 0, "timestamp": -1}]}]
    ask.afterwards("batches refused", "ListOffsets", topics=offsets)


@about("Produce")
def produce_unanswered(ask: Ask) -> None:
    """With acks=0 an error can only close the connection."""
    topic = stage.topic(ask)

    def send(what: str, to: Topic, records: bytes | None) -> None:
        body = {"acks": 0, "timeoutMs": 5000, "topicData": [produced(to, records)]}
        ask.unanswered(f"acks=0, {what}", **body)

    send("a good batch", topic, batch([b"a"]))
    send("a wrong checksum", topic, batch([b"a"], crc=1))
    send("an absent topic", stage.ABSENT, batch([b"a"]))


@about("Produce")
def produce_in_sequence(ask: Ask) -> None:
    """The next sequence numbers allowed for an idempotent producer."""
    topic = stage.topic(ask)
    ids = stage.producer_id(ask)

    def send(what: str, epoch: int, sequence: int, *values: bytes) -> None:
        records = ids.map(lambda known: batch(values, producer=Producer(known, epoch, sequence)))
        partition = {"index": 0, "records": records}
        data = [{"name": topic.name, "topicId": topic.id, "partitionData": [partition]}]
        ask(what, acks=-1, timeoutMs=5000, topicData=data)

    send("the first batch", 0, 0, b"a", b"b")
    send("the second batch", 0, 2, b"c")
    send("the first batch again", 0, 0, b"a", b"b")
    send("the second batch again", 0, 2, b"c")
    send("part of a batch again", 0, 1, b"b")
    send("a batch after a gap", 0, 9, b"x")
    send("a new epoch in its middle", 1, 5, b"x")
    send("a new epoch", 1, 0, b"d")
    send("an old epoch", 0, 3, b"x")
    for sequence in range(1, 7):
        send(f"batch {sequence} of the epoch", 1, sequence, b"y")
    send("a batch of which nobody knows any more", 1, 0, b"d")


@about("InitProducerId")
def producer_id(ask: Ask) -> None:
    """Ids for producers without transactions."""

    def plain(what: str, **body: object) -> None:
        ask(what, transactionalId=None, **body)

    plain("a new id", transactionTimeoutMs=1000)
    plain("without a time", transactionTimeoutMs=0)
    plain("a negative time", transactionTimeoutMs=-1)
    known = stage.producer_id(ask)
    plain("the next epoch", transactionTimeoutMs=1000, producerId=known, producerEpoch=0)
    plain("an epoch without an id", transactionTimeoutMs=1000, producerEpoch=0)
    plain("an id without an epoch", transactionTimeoutMs=1000, producerId=known)
    ask("an empty transactional id", transactionalId="", transactionTimeoutMs=1000)
    ask("a transactional id", transactionalId=ask.name("t"), transactionTimeoutMs=1000)


@about("DescribeProducers")
def producers(ask: Ask) -> None:
    """The producers that have written with a sequence."""
    topic = stage.topic(ask, partitions=2)
    ids = stage.producer_id(ask)
    records = ids.map(lambda known: batch([b"a", b"b"], producer=Producer(known, 0, 0)))
    partition = {"index": 0, "records": records}
    data = [{"name": topic.name, "topicId": topic.id, "partitionData": [partition]}]
    ask.prepare("Produce", acks=-1, timeoutMs=5000, topicData=data)
    ask("a partition with one", topics=[{"name": topic.name, "partitionIndexes": [0]}])
    ask("a partition without", topics=[{"name": topic.name, "partitionIndexes": [1]}])
    ask("an absent partition", topics=[{"name": topic.name, "partitionIndexes": [7]}])
    ask("no partition", topics=[{"name": topic.name, "partitionIndexes": []}])
    ask("an absent topic", topics=[{"name": "absent", "partitionIndexes": [0]}])
    ask("nothing", topics=[])
