"""Bits flip on the medium, before a start and under a running broker: no client reads wrong data.

Every partition gets one flip. `STREAMLOG_FLIPS=all` flips every bit of headers, and some thousand
others in each situation; `STREAMLOG_SEED=n` repeats a failed run.
"""

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from py.support.broker import BrokerProcess, until
from py.support.medium import flip
from py.support.rotten import CLIENTS, HEADER_BITS, TOPIC, Layout, Read, batches, fill, is_durable

IS_LONG = os.environ.get("STREAMLOG_FLIPS") == "all"
LAYOUTS = {
    "small segments": Layout(800 if IS_LONG else 120, value_bytes=36, segment_bytes=1024),
    # Batches of 160 KB, of which the first eight are a closed segment. A broker checks the parts
    # of a segment, of 1 MiB, one by one: a reader gets beyond a flip by stepping over a part.
    "segments of several parts": Layout(
        100 if IS_LONG else 24, value_bytes=40_000, segment_bytes=1_300_000
    ),
}
"""The partitions, each of which gets a flip; every layout has batches of four records."""

OCCASIONS = ["before a start", "before a start after a kill", "under a running broker"]

Place = tuple[str, int]
"""A file name and a bit."""


def places(data_dir: Path, choice: random.Random, flips: int) -> list[Place]:
    """Returns the bits to flip: those of headers, and others chosen by the seed."""
    headers: list[Place] = []
    bodies: list[tuple[str, range]] = []
    for path, position, size in batches(data_dir, 0):
        bits = range(position * 8, (position + size) * 8)
        headers += [(path.name, bit) for bit in bits[:HEADER_BITS]]
        bodies.append((path.name, bits[HEADER_BITS:]))
    assert len({name for name, _ in bodies}) > 1, "no segment is closed"
    others = 2_000 if IS_LONG else flips // 4
    if not IS_LONG:
        headers = choice.sample(headers, flips - others)
    in_bodies = choice.choices(bodies, k=others)
    return headers + [(name, choice.choice(bits)) for name, bits in in_bodies]


def rounds(found: list[Place], size: int) -> Iterator[list[Place]]:
    """Yields as many bits at a time as there are partitions."""
    for begin in range(0, len(found), size):
        yield found[begin : begin + size]


def flip_all(data_dir: Path, flips: list[Place]) -> bool:
    """Flips a bit in each partition; returns true if all of them have left the page cache."""
    paths = [data_dir / f"{TOPIC}-{partition}" / name for partition, (name, _) in enumerate(flips)]
    return all([flip(path, bit) for path, (_, bit) in zip(paths, flips, strict=True)])


def damaged(broker: BrokerProcess) -> set[int]:
    """Returns the partitions that the broker knows to be damaged."""
    command = [sys.executable, "-m", "streamlog", "partition", "damage", TOPIC, "-o", "json"]
    environment = {**os.environ, "STREAMLOG_BOOTSTRAP": broker.address}
    rows = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return {json.loads(row)["partition"] for row in rows.stdout.splitlines()}


def check(read: Read, client: str, flips: list[Place]) -> int:
    """Fails if a client read a wrong record; returns the number of partitions read in part."""
    wrong = read.wrong()
    about = [(row, flips[row[0]]) for row in wrong[:5] if row[0] < len(flips)]
    assert not wrong, f"{client} gave out {len(wrong)} wrong records: {about}"
    return read.layout.partitions - read.complete()


def live_through(broker: BrokerProcess, occasion: str, layout: Layout, flips: list[Place]) -> None:
    """Flips the bits in one situation, and reads the rest with every client."""
    if occasion == "before a start":
        # Each of its partitions has files to sync, which takes a busy disk its time.
        assert broker.stop(120) == 0
    elif occasion == "before a start after a kill":
        until(lambda: is_durable(broker.data_dir, layout.partitions), 60)
        broker.kill()
    is_on_medium = flip_all(broker.data_dir, flips)
    print(f"{occasion}: flipped {'on the medium' if is_on_medium else 'in memory alone'}")
    if broker.process is None:
        broker.start(120)
    refused: set[int] = set()
    for client, read_by in CLIENTS.items():
        read = read_by(broker.address, layout)
        short = check(read, client, flips)
        print(f"{occasion}: {client} reads {short} of {len(flips)} damaged partitions in part")
        refused |= set(read.errors)
    listed = damaged(broker)
    missed = [place for number, place in enumerate(flips) if number not in listed]
    assert not missed, f"{len(missed)} of {len(flips)} flips are not listed: {missed[:5]}"
    assert len(listed | refused) == len(flips), "a partition without a flip is taken for damaged"
    print(f"{occasion}: {len(listed)} of {len(flips)} are listed as damaged")


@pytest.mark.timeout(36_000 if IS_LONG else 240)
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("occasion", OCCASIONS)
def test_no_client_gets_a_wrong_record_from_a_rotten_medium(
    tmp_path: Path, occasion: str, layout: Layout
) -> None:
    seed = int(os.environ.get("STREAMLOG_SEED", random.randrange(1 << 32)))
    print(f"STREAMLOG_SEED={seed}")
    with BrokerProcess(tmp_path / "model") as model:
        fill(model.address, replace(layout, partitions=1))
        found = places(model.data_dir, random.Random(seed), layout.partitions)
    for number, flips in enumerate(rounds(found, layout.partitions)):
        with BrokerProcess(tmp_path / f"data-{number}") as broker:
            fill(broker.address, layout)
            for client, read_by in CLIENTS.items():
                whole = read_by(broker.address, layout).complete()
                assert whole == layout.partitions, (
                    f"{client} reads {whole} partitions whole without a flip"
                )
            live_through(broker, occasion, layout, flips)
        # The long form would leave hundreds of directories.
        shutil.rmtree(tmp_path / f"data-{number}")
