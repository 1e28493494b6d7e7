"""Groups as they are seen from outside, and the offsets they have committed."""

from differential.support import stage
from differential.support.ask import Ask
from differential.support.batches import batch
from differential.support.cases import about
from differential.support.stage import Topic
from interop.support.records import Json


def commit(topic: Topic, offset: int = 1, index: int = 0, **fields: object) -> list[Json]:
    """One partition of a commit."""
    row = {"partitionIndex": index, "committedOffset": offset, "committedMetadata": "note"}
    return [{"name": topic.name, "topicId": topic.id, "partitions": [row | fields]}]


def committed(ask: Ask, group: str, topic: Topic) -> None:
    """Commits without being a member, as tools do."""
    ask.prepare("OffsetCommit", groupId=group, topics=commit(topic, 3))


@about("OffsetCommit")
def offset_commit(ask: Ask) -> None:
    """Offsets of who is no member."""
    topic = stage.topic(ask)
    stage.produce(ask, topic, batch([b"a", b"b"]))
    group = ask.name("group")
    cases: dict[str, list[Json]] = {
        "an offset": commit(topic),
        "an offset beyond the end": commit(topic, 99),
        "an offset without a note": commit(topic, committedMetadata=None),
        "an offset with an empty note": commit(topic, committedMetadata=""),
        "an offset with its epoch": commit(topic, committedLeaderEpoch=0),
        "a note too long": commit(topic, committedMetadata="x" * 5000),
        "an absent partition": commit(topic, index=7),
        "a negative partition": commit(topic, index=-1),
        "an absent topic": commit(stage.ABSENT),
        "one absent, one good": [*commit(stage.ABSENT), *commit(topic, 2)],
        "a topic twice": [*commit(topic, 1), *commit(topic, 2)],
        "nothing": [],
    }
    for what, topics in cases.items():
        ask(what, groupId=group, topics=topics)
        look = [{"groupId": group, "topics": None}]
        ask.afterwards(what, "OffsetFetch", groups=look)
    for offset in (-1, -2, -3, -(1 << 63)):
        below = ask.name("below")
        ask(f"the offset {offset}", groupId=below, topics=commit(topic, offset))
        look = [{"groupId": below, "topics": None}]
        ask.afterwards(f"the offset {offset}", "OffsetFetch", groups=look)
    ask("a group without a name", groupId="", topics=commit(topic))
    ask("a retention", groupId=group, topics=commit(topic), retentionTimeMs=1000)
    ask("a generation of none", groupId=group, topics=commit(topic), generationIdOrMemberEpoch=3)
    ask("a member of none", groupId=ask.name("none"), memberId="nobody", topics=commit(topic))


@about("OffsetCommit")
def offset_commit_of_members(ask: Ask) -> None:
    """Offsets of who has to be a member."""
    topic = stage.topic(ask, "owned")
    group = ask.name("owned")
    leader = stage.member(ask, group)

    def by(what: str, member: object, generation: int, **fields: object) -> None:
        body = {"generationIdOrMemberEpoch": generation, "memberId": member}
        ask(what, groupId=group, topics=commit(topic), **body, **fields)

    by("before the assignment", leader, 1)
    ask.prepare("SyncGroup", **stage.syncing(group, leader))
    by("as a member", leader, 1)
    by("of an old generation", leader, 0)
    by("of a later generation", leader, 2)
    by("as an unknown member", "nobody", 1)
    by("as nobody, past the members", "", -1)
    by("by a name that nobody has", leader, 1, groupInstanceId="one")


@about("OffsetFetch")
def offset_fetch(ask: Ask) -> None:
    """Offsets that were committed, and others."""
    topic = stage.topic(ask, partitions=2)
    group = ask.name("group")
    committed(ask, group, topic)

    def of(what: str, topics: list[Json] | None, group: str = group, **fields: object) -> None:
        named = topics and [{k: v for k, v in row.items() if k != "topicId"} for row in topics]
        ask(
            what,
            groupId=group,
            topics=named,
            groups=[{"groupId": group, "topics": topics}],
            **fields,
        )

    def at(to: Topic, *partitions: int) -> list[Json]:
        return [{"name": to.name, "topicId": to.id, "partitionIndexes": list(partitions)}]

    of("a partition", at(topic, 0))
    of("a partition without", at(topic, 1))
    of("both", at(topic, 0, 1))
    of("a partition, stable", at(topic, 0), requireStable=True)
    of("no partition", at(topic))
    of("no topic", [])
    of("an absent partition", at(topic, 7))
    of("an absent topic", at(stage.ABSENT, 0))
    of("an absent group", at(topic, 0), "absent")
    of("a group without a name", at(topic, 0), "")
    if ask.version >= 2:
        of("all topics", None)
        of("all topics of an absent group", None, "absent")
    if ask.version >= 8:
        rows = [{"groupId": name, "topics": at(topic, 0)} for name in (group, "absent")]
        ask("two groups", groups=rows)
        ask("a group twice", groups=[rows[0], rows[0]])
        ask("no group", groups=[])
    if ask.version >= 9:
        row = {"groupId": group, "topics": at(topic, 0)}
        ask("as an unknown member", groups=[{**row, "memberId": "nobody", "memberEpoch": 1}])


@about("OffsetDelete")
def offset_delete(ask: Ask) -> None:
    """Offsets that are forgotten, unless members need them."""
    topic = stage.topic(ask, partitions=2)
    group = ask.name("group")
    committed(ask, group, topic)

    def of(what: str, name: str = topic.name, index: int = 0, group: str = group) -> None:
        rows = [{"name": name, "partitions": [{"partitionIndex": index}]}]
        ask(what, groupId=group, topics=rows)

    of("an absent group", group="absent")
    of("a group without a name", group="")
    of("an absent topic", "absent")
    of("an absent partition", index=7)
    of("a partition without", index=1)
    of("a partition")
    of("a partition, gone")
    ask("nothing", groupId=group, topics=[])
    ask.afterwards("offsets deleted", "OffsetFetch", groups=[{"groupId": group, "topics": None}])
    owned = ask.name("owned")
    stage.stable(ask, owned)
    of("a partition that members may read", group=owned)
    of("a partition of the members' topic", "t", group=owned)


@about("DescribeGroups")
def describe(ask: Ask) -> None:
    """Groups in all their states."""
    settled, joining, empty = ask.name("settled"), ask.name("joining"), ask.name("empty")
    stage.stable(ask, settled)
    stage.member(ask, joining)
    committed(ask, empty, stage.topic(ask))
    ask("a settled group", groups=[settled])
    ask("a group that waits for its leader", groups=[joining])
    ask("a group of offsets", groups=[empty])
    ask("an absent group", groups=["absent"])
    ask("a group without a name", groups=[""])
    ask("all of them", groups=[settled, joining, empty, "absent"])
    ask("a group twice", groups=[settled, settled])
    ask("none", groups=[])
    ask("with rights", groups=[settled], includeAuthorizedOperations=True)
    ask("with rights to an absent one", groups=["absent"], includeAuthorizedOperations=True)


@about("ListGroups")
def list_groups(ask: Ask) -> None:
    """Groups by state and type.

    Those of other scenarios are left out: their members time out, at each broker in its own moment.
    """

    def own(answer: Json) -> Json:
        groups = [row for row in answer["groups"] if row["groupId"].startswith(ask.name(""))]
        return {**answer, "groups": groups}

    def listed(what: str, **body: object) -> None:
        ask.compare(what, ask.answered(what, **body).map(own))

    stage.stable(ask, ask.name("settled"))
    stage.member(ask, ask.name("joining"))
    committed(ask, ask.name("empty"), stage.topic(ask))
    # A member that is refused.
    ask.look("JoinGroup", **stage.joining(ask.name("refused"), protocols=[]))
    listed("all")
    if ask.version >= 4:
        for states in (["Stable"], ["stable"], ["Empty", "Stable"], ["Dead"], ["Sleeping"], [""]):
            listed(f"in the states {states}", statesFilter=states)
    if ask.version >= 5:
        for types in (["classic"], ["Classic"], ["consumer"], ["share"], ["mine"], [""]):
            listed(f"of the types {types}", typesFilter=types)
        listed("by both", statesFilter=["Stable"], typesFilter=["classic"])


@about("DeleteGroups")
def delete(ask: Ask) -> None:
    """Groups that nobody is in any more."""
    settled, empty = ask.name("settled"), ask.name("empty")
    stage.stable(ask, settled)
    topic = stage.topic(ask)
    committed(ask, empty, topic)
    ask("a group with members", groupsNames=[settled])
    ask("an absent group", groupsNames=["absent"])
    ask("a group without a name", groupsNames=[""])
    ask("none", groupsNames=[])
    ask("one of offsets, one with members", groupsNames=[empty, settled])
    ask("a group that is gone", groupsNames=[empty])
    ask.afterwards("a group deleted", "OffsetFetch", groups=[{"groupId": empty, "topics": None}])
    committed(ask, empty, topic)
    ask("a group twice", groupsNames=[empty, empty])
