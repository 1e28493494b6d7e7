"""Members of groups: joining, settling, staying, leaving."""

from differential.support import stage
from differential.support.ask import Ask
from differential.support.both import Both
from differential.support.cases import about
from differential.support.stage import joining, syncing
from interop.support.records import Json


def member_of(answers: Both[Json]) -> Both[str]:
    """The id that each broker gave."""
    return answers.map(lambda answer: str(answer["memberId"]))


@about("JoinGroup")
def join(ask: Ask) -> None:
    """One member, from its first word to its second generation."""
    group = ask.name("group")
    first = member_of(ask("for the first time", **joining(group)))
    ask("with the id given", **joining(group, first))
    ask("before it has synchronised", **joining(group, first))
    ask.prepare("SyncGroup", **syncing(group, first, 1))
    ask("again, as it was", **joining(group, first))
    ask("again, for a reason", **joining(group, first, reason="because"))
    other = {"name": "sticky", "metadata": b"\0\1"}
    ask("with another protocol", **joining(group, first, protocols=[other]))
    ask("with two protocols", **joining(group, first, protocols=[other, other | {"name": "x"}]))


@about("JoinGroup")
def join_wrongly(ask: Ask) -> None:
    """Requests that no group takes."""
    group = ask.name("group")
    cases = {
        "a group without a name": joining(""),
        "an unknown member": joining(group, "nobody"),
        "a session too short": joining(group, sessionTimeoutMs=10),
        "a session too long": joining(group, sessionTimeoutMs=10_000_000),
        "a session of no time": joining(group, sessionTimeoutMs=0),
        "no protocols": joining(group, protocols=[]),
        "no kind of protocol": joining(group, protocolType=""),
    }
    for what, body in cases.items():
        ask(what, **body)
    taken = ask.name("taken")
    leader = stage.stable(ask, taken)
    ask("an unknown member of a group", **joining(taken, "nobody"))
    ask("another kind of protocol", **joining(taken, protocolType="connect"))
    ask("no protocol in common", **joining(taken, protocols=[{"name": "x", "metadata": b""}]))
    ask.afterwards("joins refused", "Heartbeat", groupId=taken, generationId=1, memberId=leader)


@about("JoinGroup")
def join_together(ask: Ask) -> None:
    """A second member waits until the first one knows."""
    group = ask.name("two")
    leader = stage.stable(ask, group)
    second: object = ""
    if ask.version >= 4:
        second = member_of(ask("as the second", **joining(group)))
    pending = ask.begin("as the second, waiting", **joining(group, second))
    beat = {"groupId": group, "generationId": 1, "memberId": leader}
    ask.until(lambda answer: answer["errorCode"] == 27, "Heartbeat", **beat)
    ask.afterwards("a member waits", "DescribeGroups", groups=[group])
    ask("as the first, again", **joining(group, leader))
    ask.finish(pending)


@about("JoinGroup")
def join_by_name(ask: Ask) -> None:
    """A static member comes back and keeps its place."""
    if ask.version < 5:
        return
    group = ask.name("static")
    name = {"groupInstanceId": "one"}
    first = member_of(ask("a name", **joining(group, **name)))
    ask.prepare("SyncGroup", **syncing(group, first, **name))
    second = member_of(ask("a name, restarted", **joining(group, **name)))
    ask("a name with an old id", **joining(group, first, **name))
    ask("a name with its id", **joining(group, second, **name))
    ask("a name with an unknown id", **joining(group, "nobody", **name))
    ask("another name with that id", **joining(group, second, groupInstanceId="two"))


@about("SyncGroup")
def sync(ask: Ask) -> None:
    """The order in which members get their assignments."""
    group = ask.name("group")
    leader = stage.member(ask, group)
    cases: dict[str, Json] = {
        "an old generation": syncing(group, leader, 0),
        "a later generation": syncing(group, leader, 2),
        "an unknown member": syncing(group, "nobody"),
        "an absent group": syncing("absent", leader),
        "a group without a name": syncing("", leader),
        "another kind of protocol": syncing(group, leader, protocolType="connect"),
        "another protocol": syncing(group, leader, protocolName="sticky"),
        "no kind of protocol": syncing(group, leader, protocolType=None),
        "no protocol": syncing(group, leader, protocolName=None),
        "a name that nobody has": syncing(group, leader, groupInstanceId="one"),
    }
    for what, body in cases.items():
        ask(what, **body)
        # Some of these settle the group in some versions; then all that follows finds it settled.
    ask("everything to itself", **syncing(group, leader))
    ask("once more", **syncing(group, leader, assignments=[]))
    bare = ask.name("bare")
    alone = stage.member(ask, bare)
    ask("nothing to anybody", **syncing(bare, alone, assignments=[]))
    named = ask.name("named")
    name = {"groupInstanceId": "one"}
    static = stage.member(ask, named, **name)
    ask("by name", **syncing(named, static, **name))
    ask("by name, unknown", **syncing(named, "nobody", **name))


@about("Heartbeat")
def heartbeat(ask: Ask) -> None:
    """Signs of life, and what they are answered."""
    group = ask.name("group")
    leader = stage.member(ask, group)

    def beat(what: str, member: object = leader, generation: int = 1, **fields: object) -> None:
        body = {"groupId": group, "generationId": generation, "memberId": member}
        ask(what, **{**body, **fields})

    beat("before the assignment")
    ask.prepare("SyncGroup", **syncing(group, leader))
    beat("settled")
    beat("an old generation", generation=0)
    beat("a later generation", generation=2)
    beat("an unknown member", "nobody")
    beat("no member", "")
    beat("an absent group", groupId="absent")
    beat("a group without a name", groupId="")
    beat("a name that nobody has", groupInstanceId="one")
    named = ask.name("named")
    static = stage.stable(ask, named, groupInstanceId="one")
    beat("by name", static, groupId=named, groupInstanceId="one")
    beat("by name, unknown", "nobody", groupId=named, groupInstanceId="one")


@about("LeaveGroup")
def leave(ask: Ask) -> None:
    """Members that go, alone or several at once."""
    group = ask.name("group")
    leader = stage.stable(ask, group)

    def go(what: str, member: object, name: str | None = None, group: str = group) -> None:
        row = {"memberId": member, "groupInstanceId": name}
        if ask.version >= 5:
            row["reason"] = "because"
        ask(what, groupId=group, memberId=member, members=[row])

    go("an unknown member", "nobody")
    go("no member", "")
    go("an absent group", leader, group="absent")
    go("a group without a name", leader, group="")
    if ask.version >= 3:
        go("an unknown name", "", "one")
        go("a name that is not the member's", leader, "one")
        ask("nobody", groupId=group, members=[])
        named = ask.name("named")
        static = stage.stable(ask, named, groupInstanceId="one")
        go("by name with another's id", "nobody", "one", named)
        go("by name", "", "one", named)
        go("by name, gone", static, "one", named)
    go("the only member", leader)
    go("the only member, gone", leader)
    ask.afterwards("all left", "DescribeGroups", groups=[group])
