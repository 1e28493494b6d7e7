"""Reading backwards uses bounded memory, whatever the gaps between offsets."""

import asyncio
from bisect import bisect_left
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeAlias, cast

import pytest

import streamlog
from streamlog import aio, backwards
from streamlog.aio.backwards import newest_first as newest_first_on_a_loop
from streamlog.backwards import MOST_BYTES, MOST_MESSAGES, newest_first


class Record(NamedTuple):
    """A record of the simulated log."""

    offset: int
    raw_key: bytes | None
    raw_value: bytes | None


Part: TypeAlias = tuple[int, int, int]
Read: TypeAlias = Callable[["Log", int], list[int]]


class Log:
    """A simulated partition that records the size of each read."""

    def __init__(self, offsets: Sequence[int], value: bytes = b"") -> None:
        """Creates a log of records with the same value."""
        self.offsets = offsets
        self.value = value
        self.most = 0
        self.read = 0

    def range(self, part: Part) -> Iterator[Record]:
        """Returns the records between two offsets."""
        _, first, stop = part
        begin, end = bisect_left(self.offsets, first), bisect_left(self.offsets, stop)
        for count, at in enumerate(range(begin, end), 1):
            self.most = max(self.most, count)
            self.read += 1
            yield Record(self.offsets[at], None, self.value)


@pytest.fixture(params=["blocking", "on a loop"])
def read(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Read:
    """Returns the newest offsets of a log."""

    def blocking(log: Log, count: int) -> list[int]:
        def ranged(
            _client: object, _topic: str, parts: list[Part], decoders: object
        ) -> Iterator[Record]:
            return log.range(parts[0])

        monkeypatch.setattr(backwards, "open_range", ranged)
        newest = newest_first(cast(streamlog.Client, None), "t", (0, 0, log.offsets[-1] + 1))
        return [message.offset for message in islice(newest, count)]

    def on_a_loop(log: Log, count: int) -> list[int]:
        class Client:
            async def _range(
                self, _topic: str, parts: list[Part], _decoders: object
            ) -> AsyncIterator[Record]:
                for record in log.range(parts[0]):
                    yield record

        async def main() -> list[int]:
            client: Any = Client()
            span = (0, 0, log.offsets[-1] + 1)
            found: list[int] = []
            async for message in newest_first_on_a_loop(cast(aio.Client, client), "t", span):
                found.append(message.offset)
                if len(found) == count:
                    break
            return found

        return asyncio.run(main())

    return blocking if request.param == "blocking" else on_a_loop


def test_gaps_between_offsets_make_no_read_larger(read: Read) -> None:
    log = Log(range(0, 100_000_000, 100))
    assert read(log, 100_000) == list(log.offsets[:-100_001:-1])
    assert MOST_MESSAGES // 4 <= log.most <= MOST_MESSAGES + 1


def test_a_dense_range_behind_a_gap_is_read_in_parts(read: Read) -> None:
    dense = list(range(100_000))
    log = Log([*dense, *range(100_000, 100_000_000, 1_000_000)])
    assert read(log, 1 << 20) == list(reversed(log.offsets))
    assert log.most <= MOST_MESSAGES + 1
    assert log.read < 3 * len(log.offsets)


def test_large_records_are_few_at_once(read: Read) -> None:
    log = Log(range(200), value=bytes(1 << 20))
    assert read(log, 200) == list(reversed(log.offsets))
    assert log.most <= (MOST_BYTES >> 20) + 1


def test_a_record_larger_than_all_that_is_read_at_once_is_found(read: Read) -> None:
    log = Log(range(0, 50 * MOST_BYTES, 2 * MOST_BYTES), value=bytes(MOST_BYTES + 1))
    assert read(log, 100) == list(reversed(log.offsets))
    assert log.most <= 2
