"""The checker finds each planted anomaly, and nothing in sound histories."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from faults.checker import anomalies, repetitions
from faults.checker.anomaly import Kind
from faults.checker.replicas import ReplicaLog, disagreements
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


def kinds(operations: list[Operation]) -> set[Kind]:
    return {anomaly.kind for anomaly in anomalies(history(operations))}


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
