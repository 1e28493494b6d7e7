"""Records on their way out: fetches, sessions, and offsets by time and epoch."""

from differential.support import stage
from differential.support.ask import Ask
from differential.support.batches import TIME, batch
from differential.support.cases import about
from differential.support.stage import Topic
from interop.support.records import Json

FILLED = (batch([b"a", b"b", b"c"]), batch([b"d"], time=TIME + 100), batch([b"e"], time=TIME + 50))


def filled(ask: Ask) -> Topic:
    """A topic with five records in three batches, of which the first record was deleted."""
    topic = stage.topic(ask)
    stage.produce(ask, topic, *FILLED)
    partitions = [{"partitionIndex": 0, "offset": 1}]
    deleted = [{"name": topic.name, "partitions": partitions}]
    ask.prepare("DeleteRecords", topics=deleted, timeoutMs=5000)
    return topic


def fetching(topic: Topic, offset: int = 0, **fields: object) -> Json:
    """A fetch request of one partition, whose fields may be others."""
    partition = {"partition": 0, "fetchOffset": offset, "partitionMaxBytes": 1 << 20}
    whole = {"maxWaitMs": 50, "minBytes": 1, "maxBytes": 1 << 20}
    own = {name: value for name, value in fields.items() if name in PARTITION_FIELDS}
    rest = {name: value for name, value in fields.items() if name not in PARTITION_FIELDS}
    named = {"topic": topic.name, "topicId": topic.id, "partitions": [partition | own]}
    return {**whole, "topics": [named], **rest}


PARTITION_FIELDS = (
    "partition",
    "partitionMaxBytes",
    "currentLeaderEpoch",
    "lastFetchedEpoch",
    "logStartOffset",
    "highWatermark",
    "replicaDirectoryId",
)


@about("Fetch")
def fetch(ask: Ask) -> None:
    """Records from everywhere in a log and around it."""
    topic = filled(ask)
    places = {
        "the start": 1,
        "the middle of a batch": 2,
        "a later batch": 3,
        "the end": 5,
        "beyond the end": 6,
        "below the start": 0,
        "a negative offset": -1,
    }
    for what, offset in places.items():
        ask(f"from {what}", **fetching(topic, offset))
    ask("one byte of the partition", **fetching(topic, 1, partitionMaxBytes=1))
    ask("no byte of the partition", **fetching(topic, 1, partitionMaxBytes=0))
    ask("one byte in all", **fetching(topic, 1, maxBytes=1))
    ask("a byte more than a batch", **fetching(topic, 1, partitionMaxBytes=len(FILLED[0]) + 1))
    ask("what is decided", **fetching(topic, 1, isolationLevel=1))
    ask("an unknown isolation", **fetching(topic, 1, isolationLevel=7))
    ask("from a rack", **fetching(topic, 1, rackId="r"))
    follower = {"logStartOffset": 0, "highWatermark": 3, "replicaDirectoryId": stage.ABSENT_ID}
    if ask.version >= 18:
        ask("with what only replicas say", **fetching(topic, 1, **follower))
    elif ask.version >= 5:
        ask("with a start of the log", **fetching(topic, 1, logStartOffset=0))
    state = {"replicaState": {"replicaId": 7, "replicaEpoch": 3}}
    ask("as a replica", **fetching(topic, 1, **(state if ask.version >= 15 else {"replicaId": 7})))
    ask("an absent partition", **fetching(topic, 0, partition=7))
    ask("a negative partition", **fetching(topic, 0, partition=-1))
    ask("an absent topic", **fetching(stage.ABSENT))
    ask("no topic", maxWaitMs=50, minBytes=1, topics=[])
    again = fetching(topic, 1)
    ask("a topic twice", **{**again, "topics": again["topics"] * 2})
    ask("more than there is", **fetching(topic, 1, minBytes=1 << 20))


@about("Fetch")
def fetch_by_epoch(ask: Ask) -> None:
    """Fetches with older and newer leader epochs."""
    topic = filled(ask)
    for epoch in (0, 5, -2):
        if ask.version >= 9:
            ask(f"leader epoch {epoch}", **fetching(topic, 1, currentLeaderEpoch=epoch))
        if ask.version >= 12:
            ask(f"last epoch {epoch}", **fetching(topic, 1, lastFetchedEpoch=epoch))
    if ask.version >= 12:
        ask("another cluster", **fetching(topic, 1, clusterId="another"))


@about("Fetch")
def fetch_in_sessions(ask: Ask) -> None:
    """Only what is new, once a session has begun."""
    if ask.version < 7:
        return
    topic = filled(ask)
    begun = ask("a session begins", **fetching(topic, 1, sessionEpoch=0))
    session = begun.map(lambda answer: answer["sessionId"])
    nothing = {"maxWaitMs": 50, "minBytes": 1, "sessionId": session, "topics": []}
    ask("the same again", **nothing, sessionEpoch=1)
    ask("the end is asked for", **fetching(topic, 5, sessionId=session, sessionEpoch=2))
    ask("nothing is new", **nothing, sessionEpoch=3)
    stage.produce(ask, topic, batch([b"new"]))
    ask("a record is new", **nothing, sessionEpoch=4)
    ask("an old epoch", **nothing, sessionEpoch=2)
    ask("an epoch too far", **nothing, sessionEpoch=9)
    forgotten = [{"topic": topic.name, "topicId": topic.id, "partitions": [0]}]
    ask("a partition is forgotten", **nothing, sessionEpoch=5, forgottenTopicsData=forgotten)
    ask("a session of none", **nothing, sessionEpoch=6)
    ask("an absent session", **{**nothing, "sessionId": 77}, sessionEpoch=1)
    ask("a session ends", **fetching(topic, 1, sessionId=session, sessionEpoch=-1))
    ask("it has ended", **nothing, sessionEpoch=7)


@about("ListOffsets")
def list_offsets(ask: Ask) -> None:
    """Offsets of times and of places with names."""
    topic = filled(ask)
    empty = stage.topic(ask, "empty")

    def at(what: str, time: int, name: str = topic.name, index: int = 0, epoch: int = -1) -> None:
        row = {"partitionIndex": index, "timestamp": time, "currentLeaderEpoch": epoch}
        ask(what, replicaId=-1, topics=[{"name": name, "partitions": [row]}], timeoutMs=1000)

    for time in (0, TIME, TIME + 1, TIME + 2, TIME + 3, TIME + 51, TIME + 100, TIME + 101):
        at(f"the time {time - TIME:+}", time)
    for special in range(-1, -9, -1):
        at(f"the place {special}", special)
        at(f"the place {special} of no records", special, empty.name)
    at("a time of no records", TIME, empty.name)
    at("an absent topic", -1, "absent")
    at("an absent partition", -1, index=7)
    at("a negative partition", -1, index=-1)
    if ask.version >= 4:
        for epoch in (0, 5, -2):
            at(f"leader epoch {epoch}", -1, epoch=epoch)
    row = {"partitionIndex": 0, "timestamp": -1}
    twice = [{"name": topic.name, "partitions": [row, row]}]
    ask("a partition twice", replicaId=-1, topics=twice)
    decided = [{"name": topic.name, "partitions": [row]}]
    ask("the end of what is decided", replicaId=-1, isolationLevel=1, topics=decided)
    ask("an unknown isolation", replicaId=-1, isolationLevel=7, topics=decided)
    ask("as a replica", replicaId=5, topics=decided)
    ask("nothing", replicaId=-1, topics=[])


@about("OffsetForLeaderEpoch")
def end_of_epoch(ask: Ask) -> None:
    """The end offset of an epoch."""
    topic = filled(ask)

    def of(what: str, epoch: int, current: int = -1, name: str = topic.name, at: int = 0) -> None:
        row = {"partition": at, "leaderEpoch": epoch, "currentLeaderEpoch": current}
        ask(what, replicaId=-1, topics=[{"topic": name, "partitions": [row]}])

    for epoch in (0, 1, -1, -2):
        of(f"epoch {epoch}", epoch)
    for current in (0, 5, -2):
        of(f"leader epoch {current}", 0, current)
    of("an absent topic", 0, name="absent")
    of("an absent partition", 0, at=7)
    ask("nothing", replicaId=-1, topics=[])
