"""The prerequisites of scenarios: topics with records, groups with members."""

import struct
from dataclasses import dataclass

from differential.support.ask import Ask, error_codes
from differential.support.both import Both
from interop.support.records import Json

ABSENT_ID = "11" * 16
CONSUMER = "consumer"
RANGE = "range"
# A consumer's subscription to the topic `t`, and an assignment of its first partition.
SUBSCRIPTION = struct.pack(">hih1si", 0, 1, 1, b"t", -1)
ASSIGNMENT = struct.pack(">hih1siii", 0, 1, 1, b"t", 1, 0, -1)


@dataclass(frozen=True)
class Topic:
    """A topic that both brokers have."""

    name: str
    id: Both[str]


ABSENT = Topic("absent", Both(ABSENT_ID, ABSENT_ID))


def topic(ask: Ask, what: str = "topic", partitions: int = 1, **configs: str) -> Topic:
    """Makes a topic and waits until it is served; `configs` have `_` for `.`."""
    name = ask.name(what)
    rows = [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()]
    wanted = {
        "name": name,
        "numPartitions": partitions,
        "replicationFactor": 1,
        "configs": rows,
    }
    made = ask.prepare("CreateTopics", topics=[wanted])
    ask.until(
        lambda answer: not error_codes(answer) and len(answer["topics"][0]["partitions"]) > 0,
        "Metadata",
        topics=[{"name": name}],
        allowAutoTopicCreation=False,
    )
    ends = [{"partitionIndex": index, "timestamp": -1} for index in range(partitions)]
    # A broker may say that it leads before it does.
    ask.until(
        lambda answer: not error_codes(answer),
        "ListOffsets",
        replicaId=-1,
        topics=[{"name": name, "partitions": ends}],
    )
    return Topic(name, made.map(lambda answer: str(answer["topics"][0]["topicId"])))


def produced(to: Topic, records: bytes | None, index: int = 0) -> Json:
    """One partition of a produce request."""
    partition = {"index": index, "records": records}
    return {"name": to.name, "topicId": to.id, "partitionData": [partition]}


def produce(ask: Ask, to: Topic, *batches: bytes) -> None:
    """Appends batches, each in a request of its own."""
    for records in batches:
        ask.prepare("Produce", acks=-1, timeoutMs=5000, topicData=[produced(to, records)])


def producer_id(ask: Ask) -> Both[int]:
    """The id of a new producer."""
    body = {"transactionalId": None, "transactionTimeoutMs": 1000}
    # The first ids of all have to be fetched from the controller.
    made = ask.until(lambda answer: not answer["errorCode"], "InitProducerId", **body)
    return made.map(lambda answer: int(answer["producerId"]))


def joining(group: str, member: object = "", **fields: object) -> Json:
    """A request to join a group."""
    protocol = {"name": RANGE, "metadata": SUBSCRIPTION}
    return {
        "groupId": group,
        "sessionTimeoutMs": 30_000,
        "rebalanceTimeoutMs": 30_000,
        "memberId": member,
        "protocolType": CONSUMER,
        "protocols": [protocol],
        **fields,
    }


def member(ask: Ask, group: str, **fields: object) -> Both[str]:
    """Makes a group of one, whose member has joined but has no assignment yet."""
    first = ask.look("JoinGroup", **joining(group, **fields)).map(lambda answer: answer["memberId"])
    ask.prepare("JoinGroup", **joining(group, first, **fields))
    return first


def stable(ask: Ask, group: str, **fields: object) -> Both[str]:
    """Makes a group of one in which all is settled, in its first generation."""
    leader = member(ask, group, **fields)
    ask.prepare("SyncGroup", **syncing(group, leader))
    return leader


def syncing(group: str, leader: object, generation: object = 1, **fields: object) -> Json:
    """A request by which a leader gives itself everything."""
    return {
        "groupId": group,
        "generationId": generation,
        "memberId": leader,
        "protocolType": CONSUMER,
        "protocolName": RANGE,
        "assignments": [{"memberId": leader, "assignment": ASSIGNMENT}],
        **fields,
    }
