"""Sizes: idle connections, large groups and responses, compaction, many partitions.

The measuring side need not be fast, so this module talks to the broker directly: through
streamlog's client, and for members of a group by its own frames, which need no thread.
"""

import asyncio
import contextlib
import dataclasses
import itertools
import os
import resource
import shutil
import socket
import statistics
import struct
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from figures import Figure, Work, at_least, at_most
from servers import Place, Running, Server, broker, running, serving

import streamlog

MEMBERS = 500
PARTITIONS = 10_000
UNWRITTEN = 50_000
COMPACTED_BYTES = 1 << 30
KEYS = 100_000
FEW = 1_024
# Or fewer, if this process may not have as many descriptors.
MANY = min(65_536, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
SPREAD = "spread"

METADATA, JOIN_GROUP, SYNC_GROUP, API_VERSIONS = 3, 11, 14, 18


def rows(place: Place) -> Iterator[Figure]:
    """Yields all rows of the section."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    for count in (1_000, 10_000):
        yield connections(count, place)
    yield from asyncio.run(group(place))
    yield metadata(place)
    yield unwritten(place)
    yield from compaction(place)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def frame(api: int, version: int, body: bytes) -> bytes:
    """Returns a request with a header of version 1, from the client id `b`."""
    header = struct.pack(">hhih", api, version, 1, 1) + b"b"
    return struct.pack(">i", len(header) + len(body)) + header + body


def text(value: str) -> bytes:
    """Encodes a protocol string: a length of two bytes, and the bytes."""
    encoded = value.encode()
    return struct.pack(">h", len(encoded)) + encoded


def ask(connection: socket.socket, request: bytes) -> bytes:
    """Returns the response, without its length and correlation id."""
    connection.sendall(request)
    answer = connection.makefile("rb")
    (length,) = struct.unpack(">i", answer.read(4))
    return answer.read(length)[4:]


def connect(started: Running) -> socket.socket:
    """Opens a connection to the broker."""
    host, port = started.address.rsplit(":", 1)
    return socket.create_connection((host, int(port)))


def connections(count: int, place: Place) -> Figure:
    """Measures the memory of an idle connection that has made one request."""
    limits = (f"max.connections={2 * count}", f"max.connections.per.ip={2 * count}")
    with running(broker(*limits), place) as started, ExitStack() as held:
        ask(held.enter_context(connect(started)), frame(API_VERSIONS, 0, b""))
        before = memory_kib(started.pid)
        for _ in range(count):
            ask(held.enter_context(connect(started)), frame(API_VERSIONS, 0, b""))
        each = (memory_kib(started.pid) - before) / count
    return Figure(f"{count:,} idle connections", "KiB each", each, gate=at_most(16))


@dataclass(frozen=True)
class Member:
    """A member of a group, with its own connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def ask(self, api: int, version: int, body: bytes) -> bytes:
        """Returns the response, without its length and correlation id."""
        self.writer.write(frame(api, version, body))
        (length,) = struct.unpack(">i", await self.reader.readexactly(4))
        return (await self.reader.readexactly(length))[4:]

    async def join(self, member_id: str) -> tuple[int, str, str]:
        """Returns generation, leader and member id, once the rebalance is complete."""
        timeouts = struct.pack(">ii", 60_000, 60_000)
        protocols = struct.pack(">i", 1) + text("range") + struct.pack(">i", 0)
        body = text("large") + timeouts + text(member_id) + text("consumer") + protocols
        answer = await self.ask(JOIN_GROUP, 3, body)
        error, generation = struct.unpack_from(">hi", answer, 4)
        assert error == 0, f"joining was answered with error {error}"
        names, at = [], 10
        for _ in range(3):  # protocol, leader, own id
            (length,) = struct.unpack_from(">h", answer, at)
            names.append(answer[at + 2 : at + 2 + length].decode())
            at += 2 + length
        return generation, names[1], names[2]

    async def sync(self, generation: int, member_id: str, others: list[str]) -> None:
        """Receives the assignment; the leader sends all assignments."""
        shares = b"".join(text(other) + struct.pack(">i", 1) + b"x" for other in others)
        body = text("large") + struct.pack(">i", generation) + text(member_id)
        answer = await self.ask(SYNC_GROUP, 1, body + struct.pack(">i", len(others)) + shares)
        (error,) = struct.unpack_from(">h", answer, 4)
        assert error == 0, f"syncing was answered with error {error}"


async def group(place: Place) -> list[Figure]:
    """Measures a second rebalance of a large group, and the broker's work while it is idle."""
    with running(broker("group.initial.rebalance.delay.ms=3000"), place) as started:
        with streamlog.connect(started.address) as client:
            client.admin.create_topic("t", partitions=1)
        host, port = started.address.rsplit(":", 1)
        opened = [await asyncio.open_connection(host, int(port)) for _ in range(MEMBERS)]
        members = [Member(*streams) for streams in opened]
        await find_coordinator(members[0])
        ids = await rebalance(members, [""] * MEMBERS)
        began = time.perf_counter()
        await rebalance(members, ids)
        seconds = time.perf_counter() - began
        before = cpu_seconds(started.pid)
        await asyncio.sleep(5)
        used = cpu_seconds(started.pid) - before
        for member in members:
            member.writer.close()
    row = f"group of {MEMBERS} members"
    return [
        Figure(row, "s, all joins sent to all shares taken", seconds, gate=at_most(1)),
        Figure(row, "broker CPU s in 5 s, stable", used, gate=at_most(0.05)),
    ]


async def find_coordinator(member: Member) -> None:
    """Waits until the broker has loaded the group's partition of the internal topic."""
    for _ in range(100):
        answer = await member.ask(10, 0, text("large"))
        if struct.unpack_from(">h", answer) == (0,):
            return
        await asyncio.sleep(0.1)
    raise TimeoutError("no coordinator for the group")


async def rebalance(members: list[Member], ids: list[str]) -> list[str]:
    """Joins and syncs all members, and returns their ids."""
    pairs = zip(members, ids, strict=True)
    joined = await asyncio.gather(*(member.join(member_id) for member, member_id in pairs))
    known = [own for _, _, own in joined]
    sync = (
        member.sync(generation, own, known if own == leader else [])
        for member, (generation, leader, own) in zip(members, joined, strict=True)
    )
    await asyncio.gather(*sync)
    return known


def metadata(place: Place) -> Figure:
    """Measures a request for all topics of a broker with many partitions."""
    with running(broker(), place) as started, connect(started) as connection:
        with streamlog.connect(started.address) as client:
            for number in range(PARTITIONS // 100):
                client.admin.create_topic(f"t{number}", partitions=100)
        times = []
        for _ in range(21):
            began = time.perf_counter()
            answer = ask(connection, frame(METADATA, 1, struct.pack(">i", -1)))
            times.append((time.perf_counter() - began) * 1000)
            assert len(answer) > 20 * PARTITIONS
    name = f"metadata of {PARTITIONS:,} partitions"
    low, high = min(times), max(times)
    return Figure(
        name, "ms to the answer", statistics.median(times), Work(), at_most(10), low, high
    )


def unwritten(place: Place) -> Figure:
    """Measures the memory of partitions without records."""
    limits = (f"max.partitions={UNWRITTEN + 1}",)
    with running(broker(*limits), place) as started:
        with streamlog.connect(started.address) as client:
            client.admin.create_topic("first", partitions=1)
            before = memory_kib(started.pid)
            for number in range(UNWRITTEN // 10_000):
                client.admin.create_topic(f"t{number}", partitions=10_000)
        each = (memory_kib(started.pid) - before) / UNWRITTEN
    return Figure(f"{UNWRITTEN:,} partitions never written", "KiB each", each, gate=at_most(1))


def compaction(place: Place) -> Iterator[Figure]:
    """Measures the rate of compaction, and its effect on a producer."""
    settings = ("log.cleaner.backoff.ms=100", "log.segment.bytes=67108864")
    with running(broker(*settings), place) as started:
        fill(started)
        logs = sorted((started.data / "broker").glob("compacted-0/*.log"))
        size = sum(path.stat().st_size for path in logs[:-1])
        copied = copy_seconds(logs[:-1], started.data / "copy")
        alone = latency(started)
        with streamlog.connect(started.address) as client:
            began = time.perf_counter()
            client.admin.set_settings({"cleanup.policy": "compact"}, topic="compacted")
        beside: list[dict[str, float]] = []
        load = threading.Thread(target=lambda: beside.append(latency(started)))
        load.start()
        while log_bytes(logs[0].parent) > size // 4:
            assert time.perf_counter() - began < 300, "the log is not compacted"
            time.sleep(0.01)
        seconds = time.perf_counter() - began
        load.join()
    row = f"compaction of {size >> 20} MiB, {KEYS:,} keys"
    yield Figure(row, "rate ÷ plain copy", copied / seconds, gate=at_least(0.3))
    yield Figure(row, "MiB/s", (size >> 20) / seconds)
    ratio = beside[0]["p99_us"] / alone["p99_us"]
    yield Figure(row, "a producer's p99 ÷ its p99 alone", ratio, gate=at_most(2))


def few_descriptors(rounds: int, partitions: int, place: Place) -> Iterator[Figure]:
    """Compares the p99 of produce and fetch with few and with enough descriptors.

    One data directory is served in turn with few descriptors and with many. Every request is for a
    partition that was not used recently, the worst case for a cache of open files.
    """
    data = Path(tempfile.mkdtemp(dir=place.data))
    measured: dict[int, list[dict[str, float]]] = {FEW: [], MANY: []}
    try:
        with serving(limited(MANY), place, data) as started:
            fill_all(started, partitions)
        for number in range(rounds):
            # Alternate the order, because the machine's speed drifts.
            for limit in (FEW, MANY) if number % 2 == 0 else (MANY, FEW):
                with serving(limited(limit), place, data) as started:
                    spread(started, partitions, partitions)
                    measured[limit].append(spread(started, partitions, 2 * partitions))
    finally:
        shutil.rmtree(data)
    work = Work("cached", "bench/load", in_flight=1, record_bytes=200, batch=1)
    row = f"{partitions:,} partitions in turn"
    for request in ("produce", "fetch"):
        times = {
            limit: [figures[f"{request}_p99_us"] for figures in measured[limit]]
            for limit in (FEW, MANY)
        }
        for limit, values in times.items():
            name = f"{request} p99 µs, {limit:,} descriptors"
            middle, low, high = statistics.median(values), min(values), max(values)
            yield Figure(row, name, middle, work, low=low, high=high)
        ratio = statistics.median(times[FEW]) / statistics.median(times[MANY])
        yield Figure(row, f"{request} p99, {FEW:,} ÷ {MANY:,} descriptors", ratio, work)


def limited(descriptors: int) -> Server:
    """Starts a broker with a limit of descriptors."""
    server = broker()
    prefix = ("prlimit", f"--nofile={descriptors}:{descriptors}")
    return dataclasses.replace(server, command=(*prefix, *server.command))


def fill_all(started: Running, partitions: int) -> None:
    """Produces a record to every partition."""
    with streamlog.connect(started.address) as client:
        client.admin.create_topic(SPREAD, partitions=partitions)
    count = str(partitions)
    started.load("produce", "--topic", SPREAD, "--partitions", count, "--records", count)


def spread(started: Running, partitions: int, records: int) -> dict[str, float]:
    """Returns the latencies of a produce and a fetch for each record."""
    options = ("--topic", SPREAD, "--partitions", str(partitions), "--records", str(records))
    return started.load("spread", *options)


def log_bytes(folder: Path) -> int:
    """Returns the bytes of the segments that are not replaced yet."""
    size = 0
    for path in folder.glob("*.log"):
        with contextlib.suppress(FileNotFoundError):
            size += path.stat().st_size
    return size


def fill(started: Running) -> None:
    """Fills a topic in which every key has many values."""
    value = os.urandom(180)
    keys = [b"%016d" % number for number in range(KEYS)]
    with streamlog.connect(started.address) as client:
        client.admin.create_topic("compacted", partitions=1)
        with client.producer() as producer:
            for key in itertools.islice(itertools.cycle(keys), COMPACTED_BYTES // 210):
                producer.send("compacted", value, key=key, partition=0)


def copy_seconds(files: list[Path], to: Path) -> float:
    """Returns the seconds for copying the files, including the sync."""
    to.mkdir()
    began = time.perf_counter()
    for path in files:
        with path.open("rb") as source, (to / path.name).open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
            target.flush()
            os.fdatasync(target.fileno())
    return time.perf_counter() - began


def latency(started: Running) -> dict[str, float]:
    """Returns the end-to-end latency of records at a low rate."""
    return started.load("latency", "--rate", "500", "--records", "1500")


def memory_kib(pid: int) -> int:
    """Returns the resident memory of the process in KiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


def cpu_seconds(pid: int) -> float:
    """Returns the processor time of the process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
