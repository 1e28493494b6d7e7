"""Only errors that promise that nothing was written count as failed."""

import pytest
from confluent_kafka import KafkaError

from faults.history.operations import Outcome
from faults.history.outcomes import outcome
from faults.history.payloads import VALUES_PER_PRODUCER, decoded, encoded, key_of

UNKNOWN = (
    KafkaError._MSG_TIMED_OUT,
    KafkaError._TIMED_OUT,
    KafkaError._TRANSPORT,
    KafkaError._PURGE_INFLIGHT,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.NOT_ENOUGH_REPLICAS,
    KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER,
    KafkaError.MSG_SIZE_TOO_LARGE,
    KafkaError.NETWORK_EXCEPTION,
    KafkaError.UNKNOWN,
    KafkaError._FATAL,
)
FAILED = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.INVALID_RECORD,
    KafkaError._PURGE_QUEUE,
)


def test_no_error_is_success() -> None:
    assert outcome(None) is Outcome.OK


@pytest.mark.parametrize("code", UNKNOWN)
def test_an_error_after_which_the_record_may_be_there_is_unknown(code: int) -> None:
    assert outcome(code) is Outcome.UNKNOWN


def test_a_record_that_every_attempt_refuses_has_failed() -> None:
    assert {outcome(code) for code in FAILED} == {Outcome.FAILED}


def test_every_other_code_is_unknown() -> None:
    failed = [code for code in range(-200, 150) if outcome(code) is Outcome.FAILED]
    assert len(failed) < 12
    assert {outcome(code) for code in set(range(-200, 150)) - set(failed)} == {Outcome.UNKNOWN}


def test_a_changed_payload_is_noticed() -> None:
    payload = encoded(4711, 50)
    assert decoded(payload) == 4711
    flips = (
        payload[:at] + bytes([byte ^ 1]) + payload[at + 1 :] for at, byte in enumerate(payload)
    )
    assert {decoded(flipped) for flipped in flips} == {None}
    assert decoded(None) is None


def test_half_of_the_keys_come_back_and_no_two_producers_share_one() -> None:
    values = [range(start, start + 1_000) for start in (0, VALUES_PER_PRODUCER)]
    keys = [[key_of(value) for value in numbers] for numbers in values]
    assert [len(set(found)) for found in keys] == [540, 540]
    assert not set(keys[0]) & set(keys[1])
