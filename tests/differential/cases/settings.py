"""Settings of topics and brokers: shown, changed, refused."""

from differential.support import stage
from differential.support.ask import Ask
from differential.support.cases import about
from interop.support.records import Json

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
KINDS = {"topic": TOPIC, "broker": BROKER, "logger": LOGGER, "metrics": METRICS, "group": GROUP}
SET, DELETE, APPEND, SUBTRACT = range(4)
# What may and may not change while a broker runs.
BROKERS_SETTINGS = {
    "background.threads": "11",
    "listeners": "PLAINTEXT://127.0.0.1:1",
    "log.cleaner.backoff.ms": "7",
    "log.retention.ms": "soon",
    "min.insync.replicas": "1",
    "no.such.setting": "1",
    "num.partitions": "3",
    "sasl.kerberos.kinit.cmd": "/usr/bin/kinit",
    "socket.listen.backlog.size": "9",
    "ssl.keystore.location": "/etc/key",
}


@about("DescribeConfigs")
def describe(ask: Ask) -> None:
    """Settings as they are, from wherever they come."""
    topic = stage.topic(ask, retention_ms="60000")

    def of(what: str, kind: int, name: str, keys: list[str] | None, **fields: object) -> None:
        row = {"resourceType": kind, "resourceName": name, "configurationKeys": keys}
        ask(what, resources=[row], **fields)

    of("a topic", TOPIC, topic.name, None)
    of("a topic, with synonyms", TOPIC, topic.name, None, includeSynonyms=True)
    of("a topic, in words", TOPIC, topic.name, ["retention.ms"], includeDocumentation=True)
    of("one setting", TOPIC, topic.name, ["retention.ms"], includeSynonyms=True)
    of("no settings", TOPIC, topic.name, [])
    of("an unknown setting", TOPIC, topic.name, ["no.such.setting"])
    of("an absent topic", TOPIC, "absent", None)
    of("an impossible topic", TOPIC, "a/b", None)
    of("a broker", BROKER, "1", None)
    of("one setting of a broker", BROKER, "1", ["log.retention.ms"], includeSynonyms=True)
    of("all brokers", BROKER, "", None)
    of("an absent broker", BROKER, "9", None)
    of("a broker that is no number", BROKER, "x", None)
    for kind, name in ((LOGGER, "9"), (METRICS, "m"), (GROUP, "g"), (99, "x"), (0, "x")):
        of(f"resource {kind} '{name}'", kind, name, ["no.such.setting"])
    ask("nothing", resources=[])
    row = {"resourceType": TOPIC, "resourceName": topic.name, "configurationKeys": []}
    ask("a topic twice", resources=[row, row])


def changed(name: str, *settings: Json, kind: int = TOPIC) -> list[Json]:
    """One resource of a request to change settings."""
    return [{"resourceType": kind, "resourceName": name, "configs": list(settings)}]


def to(name: str, value: str | None, operation: int = SET) -> Json:
    """One setting's new value."""
    row: Json = {"name": name, "value": value}
    return row if operation == SET else {**row, "configOperation": operation}


def own_settings(ask: Ask, what: str, topic: stage.Topic) -> None:
    """Compares what the topic has been told, and where every value comes from."""
    names = ["retention.ms", "cleanup.policy", "max.message.bytes", "segment.bytes"]
    row = {"resourceType": TOPIC, "resourceName": topic.name, "configurationKeys": names}
    ask.afterwards(what, "DescribeConfigs", resources=[row])


def refused(ask: Ask, topic: stage.Topic) -> None:
    """Changes that neither kind of request may make."""
    cases = {
        "an unknown setting": changed(topic.name, to("no.such.setting", "1")),
        "a setting without a name": changed(topic.name, to("", "1")),
        "what is no number": changed(topic.name, to("retention.ms", "soon")),
        "a number out of range": changed(topic.name, to("segment.bytes", "-1")),
        "none of its words": changed(topic.name, to("cleanup.policy", "sometimes")),
        "a value that is null": changed(topic.name, to("retention.ms", None)),
        "a value without letters": changed(topic.name, to("retention.ms", "")),
        "a setting twice": changed(topic.name, to("retention.ms", "1"), to("retention.ms", "2")),
        "an absent topic": changed("absent", to("retention.ms", "1")),
        "an impossible topic": changed("a/b", to("retention.ms", "1")),
        "a topic without a name": changed("", to("retention.ms", "1")),
        "an absent broker": changed("9", to("log.retention.ms", "1"), kind=BROKER),
        "a broker that is no number": changed("x", to("log.retention.ms", "1"), kind=BROKER),
        "a broker's fixed setting": changed("1", to("log.dirs", "elsewhere"), kind=BROKER),
        "an unknown kind": changed("x", to("retention.ms", "1"), kind=99),
        "a resource twice": changed(topic.name, to("retention.ms", "1")) * 2,
    }
    if ask.api == "AlterConfigs":
        # Apache Kafka stumbles over it there and never answers.
        del cases["a resource twice"]
    for what, resources in cases.items():
        ask(what, resources=resources)
    ask("nothing", resources=[])
    own_settings(ask, "changes refused", topic)


@about("AlterConfigs")
def alter(ask: Ask) -> None:
    """Settings that are not listed return to their defaults."""
    topic = stage.topic(ask, max_message_bytes="5000")
    setting = changed(topic.name, to("retention.ms", "60000"))
    ask("a setting, validated", resources=setting, validateOnly=True)
    own_settings(ask, "a change validated", topic)
    ask("a setting", resources=setting)
    own_settings(ask, "a setting changed", topic)
    ask("no setting", resources=changed(topic.name))
    own_settings(ask, "all reset", topic)
    refused(ask, topic)
    broker = changed("1", to("log.retention.ms", "90000"), kind=BROKER)
    ask("a broker's setting, validated", resources=broker, validateOnly=True)


@about("IncrementalAlterConfigs")
def alter_one_by_one(ask: Ask) -> None:
    """Settings that are not listed stay."""
    topic = stage.topic(ask, max_message_bytes="5000")
    steps = {
        "a setting": to("retention.ms", "60000"),
        "a setting again": to("retention.ms", "60000"),
        "a word more": to("cleanup.policy", "compact", APPEND),
        "a word more again": to("cleanup.policy", "compact", APPEND),
        "a word less": to("cleanup.policy", "delete", SUBTRACT),
        "a word less again": to("cleanup.policy", "delete", SUBTRACT),
        "a default": to("retention.ms", None, DELETE),
        "a default again": to("retention.ms", None, DELETE),
        "a default with a value": to("max.message.bytes", "1", DELETE),
        "more of what is no list": to("retention.ms", "1", APPEND),
        "less of what is no list": to("retention.ms", "1", SUBTRACT),
        "an unknown operation": to("retention.ms", "1", 9),
        "a default of what is unknown": to("no.such.setting", None, DELETE),
    }
    for what, step in steps.items():
        ask(f"{what}, validated", resources=changed(topic.name, step), validateOnly=True)
        ask(what, resources=changed(topic.name, step))
        own_settings(ask, what, topic)
    refused(ask, topic)
    for name, value in BROKERS_SETTINGS.items():
        for place in ("", "1"):
            asked = changed(place, to(name, value), kind=BROKER)
            what = f"{name} of {'a broker' if place else 'all brokers'}, validated"
            ask(what, resources=asked, validateOnly=True)


@about("ListConfigResources")
def resources(ask: Ask) -> None:
    """Resources by kind."""
    ask("all", resourceTypes=[])
    for name, kind in KINDS.items():
        if kind != TOPIC:
            ask(f"of kind {name}", resourceTypes=[kind])
    ask("of an unknown kind", resourceTypes=[99])
    ask("of a kind twice", resourceTypes=[BROKER, BROKER])
