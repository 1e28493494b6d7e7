"""Reassignment and election of replicas, of which one broker has little to report."""

from differential.support import stage
from differential.support.ask import Ask
from differential.support.cases import about


@about("ElectLeaders")
def elect(ask: Ask) -> None:
    """Elections where the only replica leads already."""
    topic = stage.topic(ask, partitions=2)
    for kind in (0, 1) if ask.version >= 1 else (0,):
        how = ("preferred", "unclean")[kind]

        def among(what: str, name: str, *partitions: int) -> None:
            rows = [{"topic": name, "partitions": list(partitions)}]
            ask(f"{how}, {what}", electionType=kind, topicPartitions=rows)  # noqa: B023

        among("a leader that leads", topic.name, 0, 1)
        among("an absent partition", topic.name, 7)
        among("an absent topic", "absent", 0)
        ask(f"{how}, all partitions", electionType=kind, topicPartitions=None)
        ask(f"{how}, no partitions", electionType=kind, topicPartitions=[], timeoutMs=1000)
    if ask.version >= 1:
        rows = [{"topic": topic.name, "partitions": [0]}]
        ask("an unknown kind", electionType=5, topicPartitions=rows)


@about("ListPartitionReassignments")
def list_moves(ask: Ask) -> None:
    """Nothing moves."""
    topic = stage.topic(ask)
    ask("everywhere", topics=None, timeoutMs=1000)
    ask("nowhere", topics=[])
    ask("a partition", topics=[{"name": topic.name, "partitionIndexes": [0]}])
    ask("an absent partition", topics=[{"name": topic.name, "partitionIndexes": [7]}])
    ask("an absent topic", topics=[{"name": "absent", "partitionIndexes": [0]}])


@about("AlterPartitionReassignments")
def move(ask: Ask) -> None:
    """There is nowhere to go."""
    topic = stage.topic(ask)

    def to(what: str, replicas: list[int] | None, name: str = topic.name, index: int = 0) -> None:
        partitions = [{"partitionIndex": index, "replicas": replicas}]
        ask(what, topics=[{"name": name, "partitions": partitions}])

    to("to where it is", [1])
    to("to an absent broker", [9])
    to("to a broker twice", [1, 1])
    to("to no broker", [])
    to("to a negative broker", [-1])
    to("back, without a move", None)
    to("an absent partition", [1], index=7)
    to("an absent topic", [1], name="absent")
    ask("nothing", topics=[], timeoutMs=1000)
    if ask.version >= 1:
        ask("nothing, by as many replicas", topics=[], allowReplicationFactorChange=False)
