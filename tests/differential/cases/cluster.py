"""The descriptions of brokers, clusters and topics."""

from differential.support import stage
from differential.support.ask import Ask
from differential.support.batches import batch
from differential.support.cases import about


@about("ApiVersions")
def versions(ask: Ask) -> None:
    """The supported versions, for clients with and without a valid name."""
    ask("by a client", clientSoftwareName="differential", clientSoftwareVersion="1.0")
    ask("without a name", clientSoftwareName="", clientSoftwareVersion="1.0")
    ask("without a version", clientSoftwareName="differential", clientSoftwareVersion="")
    ask("with a blank in the name", clientSoftwareName="a b", clientSoftwareVersion="1.0")
    if ask.version >= 5:
        own = ask.look("DescribeCluster").map(lambda answer: answer["clusterId"])
        software = {"clientSoftwareName": "differential", "clientSoftwareVersion": "1.0"}
        for what, cluster, node in (
            ("who means this broker", own, 1),
            ("who means another broker", own, 7),
            ("who means another cluster", "another", 1),
            ("who names a cluster only", own, -1),
            ("who names a broker only", None, 1),
        ):
            ask(what, clusterId=cluster, nodeId=node, **software)


@about("Metadata")
def topics(ask: Ask) -> None:
    """Topics by name: all, none, some, absent, impossible."""
    one = stage.topic(ask, "one", partitions=3)
    two = stage.topic(ask, "two")
    everything: list[object] | None = [] if ask.version == 0 else None
    ask("all topics", topics=everything)
    if ask.version > 0:
        ask("no topics", topics=[])
    ask("two topics", topics=[{"name": one.name}, {"name": two.name}])
    ask("a topic twice", topics=[{"name": two.name}, {"name": two.name}])
    for name in ("", ".", "..", "a/b", "a b", "ä", "x" * 250):
        ask(f"the name '{name:.9}'", topics=[{"name": name}], allowAutoTopicCreation=False)
    if ask.version >= 4:
        ask("an absent topic", topics=[{"name": "absent"}], allowAutoTopicCreation=False)


@about("Metadata")
def creation(ask: Ask) -> None:
    """A topic that comes to life by being asked for."""
    name = ask.name("made")
    ask("a topic to be made", topics=[{"name": name}], allowAutoTopicCreation=True)
    ask.until(
        lambda answer: answer["topics"][0]["errorCode"] == 0,
        "Metadata",
        topics=[{"name": name}],
        allowAutoTopicCreation=False,
    )
    ask("a topic just made", topics=[{"name": name}])


@about("Metadata")
def ids_and_rights(ask: Ask) -> None:
    """Topics by id, and what the asker may do."""
    topic = stage.topic(ask)
    named = [{"name": topic.name}]
    ask("rights at a topic", topics=named, includeTopicAuthorizedOperations=True)
    ask("rights at the cluster", topics=named, includeClusterAuthorizedOperations=True)
    if ask.version >= 10:
        ask("by id", topics=[{"name": None, "topicId": topic.id}])
        ask("by an absent id", topics=[{"name": None, "topicId": stage.ABSENT_ID}])
        ask("by name and id", topics=[{"name": topic.name, "topicId": topic.id}])
        ask("by neither name nor id", topics=[{"name": None}])
        mixed = [{"name": "absent"}, {"name": None, "topicId": topic.id}]
        ask("some by name, some by id", topics=mixed, allowAutoTopicCreation=False)


@about("DescribeCluster")
def cluster(ask: Ask) -> None:
    """The brokers, with rights, of either kind."""
    ask("the brokers")
    ask("with rights", includeClusterAuthorizedOperations=True)
    ask("with fenced ones", includeFencedBrokers=True)
    if ask.version >= 1:
        ask("the controllers", endpointType=2)
        ask("an unknown kind", endpointType=3)


@about("FindCoordinator")
def coordinator(ask: Ask) -> None:
    """Coordinators of groups, of transactions, of nothing."""
    ask("of a group", key="group", coordinatorKeys=["group"])
    ask("of a group without a name", key="", coordinatorKeys=[""])
    if ask.version >= 1:
        ask("of an unknown kind", key="x", keyType=9, coordinatorKeys=["x"])
        ask("of a share group", key="x", keyType=2, coordinatorKeys=["x"])
        ask("of a transaction", key="x", keyType=1, coordinatorKeys=["x"])
    if ask.version >= 4:
        ask("of several groups", coordinatorKeys=["a", "b", "a"])
        ask("of none", coordinatorKeys=[])


@about("DescribeTopicPartitions")
def partitions(ask: Ask) -> None:
    """Partitions page by page."""
    topic = stage.topic(ask, partitions=4)
    named = [{"name": topic.name}]
    ask("a topic", topics=named)
    ask("two of four partitions", topics=named, responsePartitionLimit=2)
    after = {"topicName": topic.name, "partitionIndex": 2}
    ask("the rest", topics=named, cursor=after, responsePartitionLimit=2)
    ask("from beyond the last partition", topics=named, cursor={**after, "partitionIndex": 9})
    ask("from a negative partition", topics=named, cursor={**after, "partitionIndex": -1})
    ask("a limit of 0", topics=named, responsePartitionLimit=0)
    ask("an absent topic", topics=[{"name": "absent"}])
    ask("an impossible name", topics=[{"name": "a/b"}])
    ask("both", topics=[{"name": "absent"}, *named])
    ask("a topic twice", topics=[*named, *named])


@about("DescribeLogDirs")
def log_dirs(ask: Ask) -> None:
    """Sizes of partitions."""
    topic = stage.topic(ask, partitions=2)
    stage.produce(ask, topic, batch([b"one", b"two"]))
    ask("one partition", topics=[{"topic": topic.name, "partitions": [0]}])
    ask("two partitions", topics=[{"topic": topic.name, "partitions": [0, 1]}])
    ask("no partitions", topics=[{"topic": topic.name, "partitions": []}])
    ask("an absent partition", topics=[{"topic": topic.name, "partitions": [7]}])
    ask("an absent topic", topics=[{"topic": "absent", "partitions": [0]}])
    ask("nothing", topics=[])


@about("UnregisterBroker")
def forgetting(ask: Ask) -> None:
    """A broker that was never there."""
    ask("an unknown broker", brokerId=99)
    ask("no broker", brokerId=-1)
