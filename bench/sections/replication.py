"""Replication of partitions on three brokers, beside the same brokers without it.

Both topics of a comparison are led by the same broker. Their loads take turns, because the
machine's speed drifts.
"""

import signal
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass

from figures import Figure, Gate, Work, at_most
from servers import Place
from three_brokers import IDS, Member, ThreeBrokers, three_brokers, until

from sections import failover

PARTITIONS = 1_000
IDLE_PARTITIONS = 1_500
# Records per second beside them: so few that each is replicated by a fetch of its own.
BUSY_RATE = 1_000
IDLE_SECONDS = 10.0
# The part of the capacity at which latencies are measured.
LOAD = 0.1
LATENCY_SECONDS = 5.0
SINGLE, REPLICATED, MANY, IDLE = "single", "replicated", "many", "idle"
NO_WORK = Work()
FLUSHED = Work("flushed", "bench/load", 1000, 200, 50)
AT_A_RATE = Work("flushed", "bench/load", None, 200, 1)


@dataclass(frozen=True)
class Cost:
    """The cost of a load, in all brokers."""

    cpu_us: float
    """The processor time of a record, summed."""
    syncs_per_second: float
    """The syncs of the broker that has most."""


def rows(rounds: int, records: int, place: Place) -> Iterator[Figure]:
    """Yields all rows of the section."""
    with three_brokers(place) as brokers:
        make_pair(brokers)
        yield from throughput(brokers, rounds, records)
        yield from latencies(brokers, rounds)
        yield from beside_idle(brokers, rounds)
        yield from failover.rows(brokers, REPLICATED, rounds)
    with three_brokers(place) as brokers:
        yield from many_partitions(brokers)


def make_pair(brokers: ThreeBrokers) -> None:
    """Creates a topic with three replicas, and one with a single replica on the same leader."""
    brokers.topic(REPLICATED)
    while True:
        brokers.topic(SINGLE, replicas=1)
        if brokers.leader(SINGLE) == brokers.leader(REPLICATED):
            break
        brokers.client.admin.delete_topic(SINGLE)
    for topic in (SINGLE, REPLICATED):
        brokers.load(topic, "produce", "--batch", "50", "--records", "20000")


def cost(brokers: ThreeBrokers, topic: str, *options: str) -> tuple[dict[str, float], Cost]:
    """Runs a load, and returns its figures and its cost."""
    before, began = brokers.usage(), time.perf_counter()
    figures = brokers.load(topic, *options)
    after, seconds = brokers.usage(), time.perf_counter() - began
    used = sum(after.cpu_seconds.values()) - sum(before.cpu_seconds.values())
    syncs = max(after.syncs[number] - before.syncs[number] for number in IDS)
    return figures, Cost(used * 1e6 / figures["records"], syncs / seconds)


def throughput(brokers: ThreeBrokers, rounds: int, records: int) -> Iterator[Figure]:
    """Compares the processor time of a record."""
    row = "produce 50, acks=all, 3 replicas"
    options = ("produce", "--batch", "50", "--records", str(records))
    ratios: list[float] = []
    single: list[float] = []
    replicated: list[float] = []
    for _ in range(rounds):
        single.append(cost(brokers, SINGLE, *options)[1].cpu_us)
        replicated.append(cost(brokers, REPLICATED, *options)[1].cpu_us)
        ratios.append(replicated[-1] / single[-1])
    name = "CPU of three brokers ÷ 1 replica"
    yield middle(row, name, ratios, FLUSHED, at_most(4, goal=3.3))
    yield middle(row, "CPU µs/record", replicated, FLUSHED)
    yield middle("produce 50, acks=all, 1 replica", "CPU µs/record", single, FLUSHED)


def latencies(brokers: ThreeBrokers, rounds: int) -> Iterator[Figure]:
    """Compares latencies and syncs at the same rate.

    A record is timed until a consumer has it, which is when its producer is answered: once every
    in-sync replica has flushed it.
    """
    capacity = brokers.load(REPLICATED, "produce", "--records", "100000")["per_second"]
    rate = capacity * LOAD
    records = str(round(rate * LATENCY_SECONDS))
    options = ("latency", "--rate", str(rate), "--records", records)
    row = f"{rate:,.0f} records/s, acks=all, 3 replicas"
    ratios: dict[str, list[float]] = {"p50_us": [], "p99_us": [], "syncs": []}
    absolute: dict[str, list[float]] = {"p50_us": [], "p99_us": [], "syncs": []}
    for _ in range(rounds):
        single, single_cost = cost(brokers, SINGLE, *options)
        replicated, replicated_cost = cost(brokers, REPLICATED, *options)
        single["syncs"] = single_cost.syncs_per_second
        replicated["syncs"] = replicated_cost.syncs_per_second
        for name, values in ratios.items():
            values.append(replicated[name] / single[name])
            absolute[name].append(replicated[name])
    yield middle(row, "p50 ÷ 1 replica", ratios["p50_us"], AT_A_RATE, at_most(3))
    yield middle(row, "p99 ÷ 1 replica", ratios["p99_us"], AT_A_RATE, at_most(4))
    yield middle(row, "syncs of a broker/s ÷ 1 replica", ratios["syncs"], AT_A_RATE, at_most(1.5))
    yield middle(row, "p50 µs", absolute["p50_us"], AT_A_RATE)
    yield middle(row, "p99 µs", absolute["p99_us"], AT_A_RATE)
    yield middle(row, "syncs of a broker/s", absolute["syncs"], AT_A_RATE)


def beside_idle(brokers: ThreeBrokers, rounds: int) -> Iterator[Figure]:
    """Compares a busy partition beside many idle ones with the same partition without them."""
    records = str(round(BUSY_RATE * LATENCY_SECONDS))
    options = ("latency", "--rate", str(BUSY_RATE), "--records", records)
    row = f"{IDLE_PARTITIONS:,} idle partitions beside one with {BUSY_RATE:,} records/s"
    ratios: dict[str, list[float]] = {"p50_us": [], "cpu_us": []}
    absolute: dict[str, list[float]] = {"p50_us": [], "cpu_us": []}
    for _ in range(rounds):
        alone, alone_cost = cost(brokers, REPLICATED, *options)
        fill(brokers, IDLE, IDLE_PARTITIONS)
        beside, beside_cost = cost(brokers, REPLICATED, *options)
        brokers.client.admin.delete_topic(IDLE)
        alone["cpu_us"], beside["cpu_us"] = alone_cost.cpu_us, beside_cost.cpu_us
        for name, values in ratios.items():
            values.append(beside[name] / alone[name])
            absolute[name].append(beside[name])
    yield middle(row, "p50 ÷ without them", ratios["p50_us"], AT_A_RATE, at_most(1.2))
    yield middle(row, "CPU of three brokers ÷ without them", ratios["cpu_us"], gate=at_most(1.5))
    yield middle(row, "p50 µs", absolute["p50_us"], AT_A_RATE)
    yield middle(row, "CPU µs/record", absolute["cpu_us"])


def many_partitions(brokers: ThreeBrokers) -> Iterator[Figure]:
    """Measures many partitions: idle, through a kill of the controller, and a full outage."""
    row = f"{PARTITIONS:,} partitions, 3 replicas each"
    empty = {number: member.resident_kib() for number, member in brokers.members.items()}
    fill(brokers, MANY, PARTITIONS)
    yield from idle(brokers, row, empty)

    # The first to start is the controller, which another has to become before it elects leaders.
    controller = brokers.members[IDS[0]]
    began = time.perf_counter()
    controller.end(signal.SIGKILL)
    until(lambda: is_led_by_others(brokers, controller), "partitions have no leader")
    seconds = time.perf_counter() - began
    yield Figure(row, "s to other leaders, controller killed", seconds, gate=at_most(2))
    began = time.perf_counter()
    controller.start()
    until(lambda: is_in_sync(brokers), "replicas are not in sync")
    seconds = time.perf_counter() - began
    yield Figure(row, "s from its start to all in sync", seconds, gate=at_most(30))
    yield from outage(brokers, row)


def fill(brokers: ThreeBrokers, topic: str, partitions: int) -> None:
    """Creates a topic, and writes a record to each of its partitions."""
    brokers.topic(topic, partitions=partitions)
    with brokers.client.producer() as producer:
        for partition in range(partitions):
            producer.send(topic, bytes(200), partition=partition)


def outage(brokers: ThreeBrokers, row: str) -> Iterator[Figure]:
    """Measures the return from an outage of all brokers at once: two of them decide who leads."""
    for member in brokers.members.values():
        member.end(signal.SIGKILL)
    first, second, third = brokers.members.values()
    first.start()
    second.start()
    seconds = until(lambda: is_led(brokers), "partitions have no leader")
    name = "s to all leaders after an outage, from the return of the second broker"
    yield Figure(row, name, seconds, gate=at_most(5))
    third.start()
    seconds = until(lambda: is_in_sync(brokers), "replicas are not in sync")
    yield Figure(row, "s to all in sync, from the return of the third", seconds)


def idle(brokers: ThreeBrokers, row: str, empty: dict[int, int]) -> Iterator[Figure]:
    """Measures the memory and the processor time of idle brokers: those of the one with most."""
    members = brokers.members
    grown = [member.resident_kib() - empty[number] for number, member in members.items()]
    yield Figure(row, "KiB for each replica of a broker", max(grown) / PARTITIONS, gate=at_most(4))
    before = brokers.usage().cpu_seconds
    time.sleep(IDLE_SECONDS)
    after = brokers.usage().cpu_seconds
    used = max(after[number] - before[number] for number in IDS) / IDLE_SECONDS
    yield Figure(row, "% of a core, idle broker", 100 * used, gate=at_most(1))


def is_led_by_others(brokers: ThreeBrokers, ended: Member) -> bool:
    """Returns whether every partition has another leader than a broker that has ended."""
    partitions = brokers.client.admin.topic(MANY).partitions
    return all(partition.leader not in (None, ended.number) for partition in partitions)


def is_led(brokers: ThreeBrokers) -> bool:
    """Returns whether every partition has a leader."""
    partitions = brokers.client.admin.topic(MANY).partitions
    return all(partition.leader is not None for partition in partitions)


def is_in_sync(brokers: ThreeBrokers) -> bool:
    """Returns whether every partition has all its replicas in sync."""
    partitions = brokers.client.admin.topic(MANY).partitions
    return all(len(partition.isr) == len(IDS) for partition in partitions)


def middle(
    row: str, name: str, values: list[float], work: Work = NO_WORK, gate: Gate | None = None
) -> Figure:
    """The median of values, with their range."""
    return Figure(row, name, statistics.median(values), work, gate, min(values), max(values))
