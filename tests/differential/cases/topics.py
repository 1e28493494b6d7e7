"""Topics made, extended, deleted, and cut at their start."""

from differential.support import stage
from differential.support.ask import Ask
from differential.support.batches import batch
from differential.support.cases import about
from interop.support.records import Json


def wanted(name: str, partitions: int = 1, replicas: int = 1, **fields: object) -> Json:
    """One topic of a request to create topics."""
    return {"name": name, "numPartitions": partitions, "replicationFactor": replicas, **fields}


def assigned(*replicas: list[int]) -> list[Json]:
    """An assignment by hand, partition by partition."""
    return [{"partitionIndex": index, "brokerIds": ids} for index, ids in enumerate(replicas)]


@about("CreateTopics")
def create(ask: Ask) -> None:
    """Topics that can be made."""
    for validate in (True, False):
        how = "validated" if validate else "made"
        ask(f"one, {how}", topics=[wanted(ask.name("one"), 3)], validateOnly=validate)
        config = [{"name": "retention.ms", "value": "60000"}]
        topic = wanted(ask.name("config"), configs=config)
        ask(f"with a setting, {how}", topics=[topic], validateOnly=validate)
        topic = wanted(ask.name("assigned"), -1, -1, assignments=assigned([1], [1]))
        ask(f"by an assignment, {how}", topics=[topic], validateOnly=validate)
        ask(f"two, {how}", topics=[wanted(ask.name(n)) for n in "ab"], validateOnly=validate)
        defaults = wanted(ask.name("defaults"), -1, -1)
        ask(f"by defaults, {how}", topics=[defaults], validateOnly=validate)
    ask("none", topics=[], timeoutMs=1000)
    ask("what there is", topics=[wanted(ask.name("one"))])
    ask("what there is, and what is not", topics=[wanted(ask.name(n)) for n in ("one", "new")])
    named = [{"name": ask.name(n)} for n in ("one", "config", "assigned", "defaults", "new")]
    ask.afterwards("topics made", "Metadata", topics=named)


@about("CreateTopics")
def create_wrongly(ask: Ask) -> None:
    """Topics that cannot be made."""
    name = ask.name("wrong")
    for bad in ("", ".", "..", "a/b", "ä", "x" * 250):
        ask(f"the name '{bad:.9}'", topics=[wanted(bad)])
    for partitions in (0, -2):
        ask(f"{partitions} partitions", topics=[wanted(name, partitions)])
    for replicas in (0, -2, 2):
        ask(f"{replicas} replicas", topics=[wanted(name, 1, replicas)])
    ask("one name twice", topics=[wanted(name), wanted(name)])
    settings = {
        "an unknown setting": ("no.such.setting", "1"),
        "a setting that is no number": ("retention.ms", "soon"),
        "a setting out of range": ("segment.bytes", "-1"),
        "a setting that is none of its words": ("cleanup.policy", "sometimes"),
        "a setting that is null": ("retention.ms", None),
        "a setting without a name": ("", "1"),
    }
    for what, (key, value) in settings.items():
        ask(what, topics=[wanted(name, configs=[{"name": key, "value": value}])])
    assignments = {
        "an assignment and a number": (1, -1, assigned([1])),
        "an absent broker": (-1, -1, assigned([9])),
        "a broker twice": (-1, -1, assigned([1, 1])),
        "no broker": (-1, -1, assigned([])),
        "a negative broker": (-1, -1, assigned([-1])),
        "a gap between partitions": (-1, -1, [{"partitionIndex": 1, "brokerIds": [1]}]),
        "a partition twice": (-1, -1, [*assigned([1]), *assigned([1])]),
    }
    for what, (partitions, replicas, rows) in assignments.items():
        ask(what, topics=[wanted(name, partitions, replicas, assignments=rows)])
    ask("a name like another's", topics=[wanted("a.b_c"), wanted("a_b.c")], validateOnly=True)
    ask.afterwards("topics refused", "Metadata", topics=[{"name": name}], **NOT_MADE)


NOT_MADE = {"allowAutoTopicCreation": False}


@about("DeleteTopics")
def delete(ask: Ask) -> None:
    """Topics by name and by id."""

    def go(what: str, **body: object) -> None:
        ask(what, timeoutMs=5000, **body)

    first, second = stage.topic(ask, "first"), stage.topic(ask, "second")
    go("by name", topicNames=[first.name], topics=[{"name": first.name}])
    ask.until(
        lambda answer: answer["topics"][0]["errorCode"] == 3,
        "Metadata",
        topics=[{"name": first.name}],
        **NOT_MADE,
    )
    go("what is gone", topicNames=[first.name], topics=[{"name": first.name}])
    go("an absent topic", topicNames=["absent"], topics=[{"name": "absent"}])
    go("a name without letters", topicNames=[""], topics=[{"name": ""}])
    go("none", topicNames=[], topics=[])
    twice = [second.name, second.name]
    go("a name twice", topicNames=twice, topics=[{"name": name} for name in twice])
    if ask.version >= 6:
        third = stage.topic(ask, "third")
        go("by an absent id", topics=[{"topicId": stage.ABSENT_ID}])
        go("by neither", topics=[{}])
        go("by name and id", topics=[{"name": third.name, "topicId": third.id}])
        go("by id", topics=[{"topicId": third.id}])


@about("CreatePartitions")
def extend(ask: Ask) -> None:
    """Partitions that can be added, and others."""
    topic = stage.topic(ask, partitions=2)

    def more(what: str, count: int, *assignments: list[int], **fields: object) -> None:
        rows = [{"brokerIds": ids} for ids in assignments] or None
        asked = {"name": topic.name, "count": count, "assignments": rows}
        ask(what, topics=[asked], timeoutMs=5000, **fields)

    more("one more, validated", 3, validateOnly=True)
    more("one more", 3)
    more("as many", 3)
    more("fewer", 1)
    more("none", 0)
    more("a negative number", -1)
    more("one more by an assignment", 4, [1])
    more("two more by an assignment of one", 6, [1])
    more("an absent broker", 5, [9])
    more("a broker twice", 5, [1, 1])
    more("no broker", 5, [])
    absent = {"name": "absent", "count": 3, "assignments": None}
    ask("an absent topic", topics=[absent], timeoutMs=5000)
    ask("no topic", topics=[], timeoutMs=5000)
    ask("a topic twice", topics=[{**absent, "name": topic.name}] * 2, timeoutMs=5000)
    ask.until(
        lambda answer: len(answer["topics"][0]["partitions"]) == 4,
        "Metadata",
        topics=[{"name": topic.name}],
    )


@about("DeleteRecords")
def delete_records(ask: Ask) -> None:
    """Records before an offset."""
    topic = stage.topic(ask)
    stage.produce(ask, topic, batch([b"a", b"b", b"c"]), batch([b"d", b"e"]))

    def before(what: str, offset: int, name: str = topic.name, index: int = 0) -> None:
        partitions = [{"partitionIndex": index, "offset": offset}]
        ask(what, topics=[{"name": name, "partitions": partitions}], timeoutMs=5000)

    before("in the middle of a batch", 1)
    before("where the log starts", 1)
    before("below where the log starts", 0)
    before("a negative offset", -2)
    before("beyond the end", 9)
    before("all there is", -1)
    before("an absent topic", 0, name="absent")
    before("an absent partition", 0, index=7)
    before("a negative partition", 0, index=-1)
    before("an internal topic", 0, name="__consumer_offsets")
    ask("nothing", topics=[], timeoutMs=5000)
    ends = [{"partitionIndex": 0, "timestamp": -2}]
    ask.afterwards(
        "records deleted", "ListOffsets", topics=[{"name": topic.name, "partitions": ends}]
    )
