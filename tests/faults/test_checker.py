"""The checker finds each planted anomaly, and nothing in sound histories."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from faults.checker import anomalies, compacted, repetitions
from faults.checker.anomaly import Kind
from faults.checker.replicas import ReplicaLog, compacted_disagreements, disagreements, gaps
from faults.history.lines import as_dict, parsed
from faults.history.operations import (
    Assign,
    End,
    History,
    Operation,
    Outcome,
    Poll,
    Record,
    Seen,
    Send,
)
from faults.history.payloads import KEYS_PER_PRODUCER
from faults.topics import TopicKind

READER, FINAL, WATCHER = 10, 11, 12


def send(process: int, invoked: int, *records: Record) -> Send:
    return Send(process, 0, invoked, invoked + 5, records)


def ok(value: int, offset: int) -> Record:
    return Record(value, Outcome.OK, offset)


def poll(process: int, invoked: int, *places: tuple[int, int | None]) -> Poll:
    seen = tuple(Seen(0, offset, value) for offset, value in places)
    return Poll(process, invoked, invoked + 5, seen, final=process == FINAL)


def end(invoked: int, offset: int) -> End:
    return End(WATCHER, 0, invoked, invoked + 5, offset)


def sound() -> list[Operation]:
    """Two producers, a reader and the final polls; the value at an offset is a hundred more.

    Value 104 has an unknown outcome and was written; 901 has one too, and was not; 900 failed.
    """
    return [
        send(1, 0, ok(100, 0), ok(101, 1)),
        send(2, 10, ok(102, 2)),
        send(1, 20, ok(103, 3), Record(104, Outcome.UNKNOWN), Record(900, Outcome.FAILED)),
        send(2, 30, ok(105, 5), Record(901, Outcome.UNKNOWN)),
        Assign(READER, 1),
        poll(READER, 40, (0, 100), (1, 101), (2, 102)),
        poll(READER, 50, (3, 103), (4, 104)),
        end(60, 6),
        end(70, 6),
        Assign(FINAL, 100),
        poll(FINAL, 101, *((offset, 100 + offset) for offset in range(6))),
        end(120, 6),
    ]


def history(operations: list[Operation]) -> History:
    found = History()
    for operation in operations:
        found.add(operation)
    found.sort()
    return found


def kinds(operations: list[Operation], topic: TopicKind = TopicKind.RECORD) -> set[Kind]:
    return {anomaly.kind for anomaly in anomalies(history(operations), topic)}


def without(operations: list[Operation], *values: int, final_only: bool = False) -> None:
    """Removes values from polls."""
    for at, operation in enumerate(operations):
        if isinstance(operation, Poll) and (operation.final or not final_only):
            kept = tuple(seen for seen in operation.records if seen.value not in values)
            operations[at] = replace(operation, records=kept)


def show(operations: list[Operation], at: int, *places: tuple[int, int | None]) -> None:
    """Replaces what the poll at an index has shown."""
    shown = operations[at]
    assert isinstance(shown, Poll)
    operations[at] = replace(shown, records=tuple(Seen(0, o, v) for o, v in places))


def show_at_the_end(operations: list[Operation], *places: tuple[int, int | None]) -> None:
    """Lets the final polls show more records behind the sound ones, and asks for no end then."""
    show(operations, 10, *((offset, 100 + offset) for offset in range(6)), *places)
    del operations[11]


def two_values_at_an_offset(operations: list[Operation]) -> None:
    operations.append(send(3, 90, Record(777, Outcome.UNKNOWN)))
    # Two consumers have seen different records there, and the final polls repeat both.
    operations.append(poll(13, 95, (4, 777)))
    operations.append(replace(poll(14, 130, (4, 777)), final=True))


def duplicate(operations: list[Operation]) -> None:
    show_at_the_end(operations, (6, 100))


def gap(operations: list[Operation]) -> None:
    operations.append(send(3, 31, Record(777, Outcome.UNKNOWN)))
    show_at_the_end(operations, (7, 777))


def lost_write(operations: list[Operation]) -> None:
    without(operations, 101)
    operations[5] = poll(READER, 40, (2, 102))


def unseen(operations: list[Operation]) -> None:
    without(operations, 105)


def acked_missing(operations: list[Operation]) -> None:
    without(operations, 103, final_only=True)
    operations.append(Assign(FINAL, 102))
    show(operations, 10, (0, 100), (1, 101), (2, 102))
    operations.append(poll(FINAL, 103, (4, 104), (5, 105)))


def acked_moved(operations: list[Operation]) -> None:
    show(operations, 10, *((offset, 100 + offset) for offset in range(5)), (5, 777), (6, 105))
    operations.append(send(3, 31, Record(777, Outcome.UNKNOWN)))
    operations[3] = send(2, 30, ok(105, 7))
    operations[:] = [operation for operation in operations if not isinstance(operation, End)]


def exposed_then_lost(operations: list[Operation]) -> None:
    operations.append(send(3, 31, Record(777, Outcome.UNKNOWN)))
    operations.append(poll(13, 95, (6, 777)))
    del operations[11]


def aborted_read(operations: list[Operation]) -> None:
    show_at_the_end(operations, (6, 900))


def damaged(operations: list[Operation]) -> None:
    operations.append(poll(13, 95, (4, None)))


def never_sent(operations: list[Operation]) -> None:
    show_at_the_end(operations, (6, 4711))


def poll_skip(operations: list[Operation]) -> None:
    show(operations, 6, (4, 104))


def nonmonotonic_poll(operations: list[Operation]) -> None:
    show(operations, 6, (2, 102), (3, 103))


def int_poll_skip(operations: list[Operation]) -> None:
    show(operations, 5, (0, 100), (2, 102))


def int_nonmonotonic_poll(operations: list[Operation]) -> None:
    show(operations, 5, (0, 100), (1, 101), (0, 100), (1, 101), (2, 102))


def nonmonotonic_send(operations: list[Operation]) -> None:
    operations[1] = send(2, 30, ok(102, 2))
    operations[2] = send(1, 29, ok(103, 3), Record(104, Outcome.UNKNOWN))
    operations[3] = replace(send(2, 10, ok(105, 5)), returned=32)


def int_nonmonotonic_send(operations: list[Operation]) -> None:
    operations[0] = send(1, 0, ok(101, 1), ok(100, 0))


def realtime_order(operations: list[Operation]) -> None:
    operations[0] = send(1, 20, ok(100, 0), ok(101, 1))
    operations[1] = send(2, 10, ok(102, 2))
    operations[2] = send(1, 30, ok(103, 3), Record(104, Outcome.UNKNOWN))


def hw_regression(operations: list[Operation]) -> None:
    operations[8] = end(70, 5)


PLANTED: dict[Kind, Callable[[list[Operation]], None]] = {
    Kind.INCONSISTENT_OFFSETS: two_values_at_an_offset,
    Kind.DUPLICATE: duplicate,
    Kind.GAP: gap,
    Kind.LOST_WRITE: lost_write,
    Kind.UNSEEN: unseen,
    Kind.ACKED_MISSING: acked_missing,
    Kind.ACKED_MOVED: acked_moved,
    Kind.EXPOSED_THEN_LOST: exposed_then_lost,
    Kind.ABORTED_READ: aborted_read,
    Kind.DAMAGED_PAYLOAD: damaged,
    Kind.NEVER_SENT: never_sent,
    Kind.POLL_SKIP: poll_skip,
    Kind.NONMONOTONIC_POLL: nonmonotonic_poll,
    Kind.INT_POLL_SKIP: int_poll_skip,
    Kind.INT_NONMONOTONIC_POLL: int_nonmonotonic_poll,
    Kind.NONMONOTONIC_SEND: nonmonotonic_send,
    Kind.INT_NONMONOTONIC_SEND: int_nonmonotonic_send,
    Kind.REALTIME_ORDER: realtime_order,
    Kind.HW_REGRESSION: hw_regression,
}


def test_every_kind_of_anomaly_is_planted() -> None:
    assert PLANTED.keys() | {Kind.REPLICA_DISAGREEMENT} == set(Kind)


@pytest.mark.parametrize("kind", PLANTED)
def test_exactly_the_planted_anomaly_is_found(kind: Kind) -> None:
    operations = sound()
    PLANTED[kind](operations)
    assert kinds(operations) == {kind}


def test_nothing_is_found_in_a_sound_history() -> None:
    assert anomalies(history(sound())) == []


def test_a_group_may_go_back_and_skip_from_one_poll_to_the_next() -> None:
    for plant in (poll_skip, nonmonotonic_poll):
        operations = sound()
        operations[4] = Assign(READER, 1, subscribed=True)
        plant(operations)
        assert kinds(operations) == set()


def test_a_new_assignment_may_begin_anywhere() -> None:
    operations = sound()
    operations.append(Assign(READER, 46))
    nonmonotonic_poll(operations)
    assert kinds(operations) == set()


def test_without_idempotence_a_repeated_record_is_counted_and_is_no_anomaly() -> None:
    operations = sound()
    duplicate(operations)
    found = history(operations)
    found.repeating.add(1)
    assert anomalies(found) == []
    assert repetitions(found) == 1


def test_an_acknowledgement_and_a_poll_show_a_watermark_too() -> None:
    acknowledged = [*sound(), end(36, 5)]
    assert kinds(acknowledged) == {Kind.HW_REGRESSION}
    # Asked for while the answers are under way, nothing is known yet.
    assert kinds([*sound(), end(34, 4)]) == set()
    polled = [*sound(), end(46, 2)]
    polled[3] = replace(send(2, 30, ok(105, 5)), returned=55)
    polled[2] = replace(send(1, 20, ok(103, 3), Record(104, Outcome.UNKNOWN)), returned=53)
    assert kinds(polled) == {Kind.HW_REGRESSION}


def test_a_history_in_a_file_is_the_same_history() -> None:
    operations = sound()
    lines = [json.dumps(as_dict(operation)) for operation in operations]
    assert parsed([*lines, '{"op":"repeating","process":2}']) == replace(
        history(operations), repeating={2}
    )


def superseded(operations: list[Operation]) -> int:
    """Adds a record with the key of value 102 behind all others, and returns its value."""
    value = 102 + 2 * KEYS_PER_PRODUCER
    operations.append(send(3, 31, ok(value, 6)))
    shown = operations[10]
    assert isinstance(shown, Poll)
    operations[10] = replace(shown, records=(*shown.records, Seen(0, 6, value)))
    operations[7:9] = [end(60, 7), end(70, 7)]
    operations.remove(end(120, 6))
    return value


def test_a_superseded_record_of_a_compacted_topic_may_be_gone() -> None:
    operations = sound()
    superseded(operations)
    without(operations, 102, final_only=True)
    assert kinds(operations) == {Kind.ACKED_MISSING, Kind.INT_POLL_SKIP}
    assert kinds(operations, TopicKind.COMPACTED) == set()
    assert compacted(history(operations)) == 1
    # A reader may have passed it when it was gone.
    show(operations, 6, (4, 104))
    show(operations, 5, (0, 100), (1, 101), (3, 103))
    assert kinds(operations, TopicKind.COMPACTED) == set()
    without(operations, 102)
    assert kinds(operations, TopicKind.COMPACTED) == set()


@pytest.mark.parametrize("value", [101, 100, 104])
def test_the_last_record_of_a_key_must_stay_in_a_compacted_topic(value: int) -> None:
    operations = sound()
    superseded(operations)
    without(operations, value, final_only=True)
    lost = Kind.EXPOSED_THEN_LOST if value == 104 else Kind.ACKED_MISSING
    assert lost in kinds(operations, TopicKind.COMPACTED)
    assert compacted(history(operations)) == 0


def test_a_record_of_a_compacted_topic_must_not_move() -> None:
    operations = sound()
    acked_moved(operations)
    assert kinds(operations, TopicKind.COMPACTED) == {Kind.ACKED_MOVED}


def test_compaction_leaves_the_last_copy_of_a_repeated_record() -> None:
    operations = sound()
    show_at_the_end(operations, (6, 100))
    del operations[5]
    without_first_copy = operations[9]
    assert isinstance(without_first_copy, Poll)
    operations[9] = replace(without_first_copy, records=without_first_copy.records[1:])
    found = history(operations)
    assert Kind.ACKED_MOVED in {a.kind for a in anomalies(found, TopicKind.COMPACTED)}
    found.repeating.add(1)
    assert anomalies(found, TopicKind.COMPACTED) == []


def test_offsets_that_count_bytes_have_gaps_between_batches() -> None:
    operations = sound()
    gap(operations)
    assert kinds(operations) == {Kind.GAP}
    assert kinds(operations, TopicKind.BYTE) == set()


def replica(*batches: tuple[int, bytes]) -> ReplicaLog:
    return ReplicaLog([({"base_offset": offset}, raw) for offset, raw in batches])


def test_replicas_must_agree_below_the_watermark_only() -> None:
    whole = replica((0, b"a"), (3, b"b"), (5, b"c"))
    longer = replica((0, b"a"), (3, b"b"), (5, b"x"), (6, b"y"))
    shorter = replica((0, b"a"))
    assert list(disagreements(0, {1: whole, 2: longer, 3: whole}, 5)) == []
    found = list(disagreements(0, {1: whole, 2: longer, 3: shorter}, 6))
    assert [(a.kind, a.detail) for a in found] == [
        (Kind.REPLICA_DISAGREEMENT, "brokers 1 and 2 differ from offset 5 on"),
        (Kind.REPLICA_DISAGREEMENT, "brokers 1 and 3 differ from offset 3 on"),
    ]


def covering(*spans: tuple[int, int]) -> ReplicaLog:
    return ReplicaLog([({"base_offset": base, "last_offset": last}, b"") for base, last in spans])


def test_every_offset_below_the_watermark_is_in_a_batch() -> None:
    whole = covering((0, 2), (3, 9), (10, 12))
    hole = covering((0, 2), (4, 9), (10, 12))
    late = covering((3, 9), (10, 12))
    logs = {1: whole, 2: hole, 3: late}
    assert [(a.kind, a.detail) for a in gaps(0, logs, 13)] == [
        (Kind.GAP, "broker 2 has nothing at offset 3"),
        (Kind.GAP, "broker 3 has nothing at offset 0"),
    ]
    assert list(gaps(0, {1: whole, 2: hole}, 3)) == []
    assert [a.detail for a in gaps(0, {1: whole}, 14)] == ["broker 1 has nothing at offset 13"]


def compacted_replica(*records: tuple[int, str], sequence: int = 7) -> ReplicaLog:
    """A log of one batch from offset 0 on, of records with an offset, a key and equal values."""
    batch: dict[str, Any] = {
        "base_offset": 0,
        "base_sequence": sequence,
        "producer_id": 1,
        "producer_epoch": 0,
        "leader_epoch": 2,
        "timestamp_type": "CreateTime",
    }
    rest = {"value": "v", "timestamp": 5, "headers": []}
    rows = [{"offset": offset, "key": key, **rest} for offset, key in records]
    return ReplicaLog([({**batch, "records": rows}, b"")])


def test_compacted_replicas_must_have_the_same_last_record_of_each_key() -> None:
    whole = compacted_replica((0, "a"), (1, "b"), (2, "a"), (3, "c"), (4, "a"))
    halfway = compacted_replica((1, "b"), (2, "a"), (3, "c"), (4, "a"))
    clean = compacted_replica((1, "b"), (3, "c"), (4, "a"))
    alike = {1: whole, 2: halfway, 3: clean}
    assert list(compacted_disagreements(0, alike, 5)) == []
    # Below offset 4, the last record of a key is not on every broker.
    assert [a.detail for a in compacted_disagreements(0, alike, 4)] == [
        "brokers 1 and 3 differ in the record at offset 2"
    ]


def test_records_of_compacted_replicas_must_be_the_same_at_an_offset() -> None:
    whole = compacted_replica((0, "a"), (1, "b"), (2, "a"))
    other_key = compacted_replica((1, "c"), (2, "a"))
    other_sequence = compacted_replica((1, "b"), (2, "a"), sequence=8)
    lost = compacted_replica((0, "a"), (2, "a"))
    for log, offset in ((other_key, 1), (other_sequence, 1), (lost, 1)):
        found = list(compacted_disagreements(0, {1: whole, 2: log}, 3))
        assert [(a.kind, a.detail) for a in found] == [
            (
                Kind.REPLICA_DISAGREEMENT,
                f"brokers 1 and 2 differ in the record at offset {offset}",
            )
        ]


def batch(base: int, count: int, size: int, clock: str = "CreateTime") -> dict[str, Any]:
    unit = {"base_offset": base, "last_offset": base + count - 1, "record_count": count}
    return {**unit, "size": size, "timestamp_type": clock}


def test_a_log_shows_the_kind_of_its_topic() -> None:
    plain = [batch(0, 3, 90), batch(3, 2, 80)]
    stamped = [batch(0, 3, 90, "LogAppendTime"), batch(3, 2, 80, "LogAppendTime")]
    hole = [batch(0, 1, 90), batch(3, 2, 80)]
    in_bytes = [{**batch(0, 90, 90), "record_count": 3}]
    shown = {
        TopicKind.RECORD: plain,
        TopicKind.APPEND_TIME: stamped,
        TopicKind.COMPACTED: hole,
        TopicKind.BYTE: in_bytes,
    }
    for kind, batches in shown.items():
        assert kind.is_shown_by(batches)
    assert not TopicKind.RECORD.is_shown_by(stamped)
    for kind in set(TopicKind) - {TopicKind.RECORD}:
        assert not kind.is_shown_by(plain)
