"""Rights, quotas and credentials, of which neither broker has been told anything."""

from differential.support.ask import Ask
from differential.support.cases import about
from interop.support.records import Json

ANY = 1
TOPIC, LITERAL, PREFIXED, READ, ALLOW = 2, 3, 4, 3, 3


def rule(**fields: object) -> Json:
    """A rule that lets somebody read a topic."""
    whole = {
        "resourceType": TOPIC,
        "resourceName": "t",
        "resourcePatternType": LITERAL,
        "principal": "User:somebody",
        "host": "*",
        "operation": READ,
        "permissionType": ALLOW,
    }
    return {**whole, **fields}


def rule_filter(kind: int) -> Json:
    """A filter that matches by kind of resource alone."""
    return {
        "resourceTypeFilter": kind,
        "resourceNameFilter": None,
        "patternTypeFilter": LITERAL,
        "principalFilter": None,
        "hostFilter": None,
        "operation": ANY,
        "permissionType": ANY,
    }


@about("DescribeAcls")
def describe_acls(ask: Ask) -> None:
    """Rules by filter."""
    ask("all rules", **rule_filter(ANY))
    ask("of topics", **rule_filter(TOPIC))
    narrow = {
        "resourceNameFilter": "t",
        "patternTypeFilter": PREFIXED,
        "principalFilter": "User:somebody",
        "hostFilter": "127.0.0.1",
        "operation": READ,
        "permissionType": ALLOW,
    }
    ask("of somebody", **{**rule_filter(TOPIC), **narrow})
    ask("of an unknown kind", **rule_filter(0))


@about("CreateAcls")
def create_acls(ask: Ask) -> None:
    """Rules, good and bad."""
    ask("a rule", creations=[rule()])
    ask("a rule for all that begin so", creations=[rule(resourcePatternType=PREFIXED)])
    ask("two rules", creations=[rule(), rule(resourceName="u")])
    ask("no rule", creations=[])
    ask("a rule for anything", creations=[rule(resourceType=ANY)])


@about("DeleteAcls")
def delete_acls(ask: Ask) -> None:
    """Rules that are not there."""
    ask("by one filter", filters=[rule_filter(TOPIC)])
    narrow = {"resourceNameFilter": "t", "patternTypeFilter": PREFIXED}
    whom = {"principalFilter": "User:somebody", "hostFilter": "127.0.0.1"}
    ask("by a narrow filter", filters=[{**rule_filter(TOPIC), **narrow, **whom}])
    ask("by two filters", filters=[rule_filter(TOPIC), rule_filter(ANY)])
    ask("by none", filters=[])


@about("DescribeClientQuotas")
def quotas(ask: Ask) -> None:
    """Quotas of users and clients."""
    exact, default, anyone = 0, 1, 2

    def of(what: str, kind: str, match: int, name: str | None, *, strict: bool = False) -> None:
        row = {"entityType": kind, "matchType": match, "match": name}
        ask(what, components=[row], strict=strict)

    ask("all", components=[])
    of("of a user", "user", exact, "somebody")
    of("of the default user", "user", default, None)
    of("of any client", "client-id", anyone, None, strict=True)
    of("of an address", "ip", exact, "127.0.0.1")
    of("of an unknown kind", "planet", exact, "earth")
    of("of no kind", "", exact, "x")
    of("by an unknown match", "user", 9, "x")
    of("by a name that is null", "user", exact, None)
    of("by a default with a name", "user", default, "x")
    of("of an address that is none", "ip", exact, "not an address")
    row = {"entityType": "user", "matchType": anyone, "match": None}
    ask("of a kind twice", components=[row, row])
    ask("of addresses and users", components=[row, {**row, "entityType": "ip"}])


@about("DescribeUserScramCredentials")
def credentials(ask: Ask) -> None:
    """Credentials that nobody has."""
    ask("of all", users=None)
    ask("of none", users=[])
    ask("of somebody", users=[{"name": "somebody"}])
    ask("of somebody twice", users=[{"name": "somebody"}, {"name": "somebody"}])
    ask("of nobody", users=[{"name": ""}])
