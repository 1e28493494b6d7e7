"""The table of errors that promise that nothing was written.

Everything else is unknown: above all time-outs, lost connections and
NOT_ENOUGH_REPLICAS_AFTER_APPEND. librdkafka reports the error of the last attempt, even with
`retries=0` makes several, and an earlier one may have written the record. So these promise nothing:

- NOT_ENOUGH_REPLICAS and all that depends on the state of the cluster.
- NOT_LEADER_OR_FOLLOWER, even after one attempt: a leader answers so if it hands over its partition
  before a record that it has appended is replicated.
- MSG_SIZE_TOO_LARGE: it is said of a batch, in which a record may be repeated with later ones.
"""

from confluent_kafka import KafkaError

from faults.history.operations import Outcome

FAILED = frozenset(
    {
        KafkaError.INVALID_RECORD,
        KafkaError.INVALID_TIMESTAMP,
        KafkaError.INVALID_REQUIRED_ACKS,
        KafkaError.UNSUPPORTED_COMPRESSION_TYPE,
        KafkaError.TOPIC_EXCEPTION,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        # It left no queue of the client.
        KafkaError._PURGE_QUEUE,
        KafkaError._QUEUE_FULL,
        KafkaError._INVALID_ARG,
    }
)
"""Every attempt to write the record would be refused."""


def outcome(code: int | None) -> Outcome:
    """The outcome of a record by the code of its error."""
    if code is None:
        return Outcome.OK
    return Outcome.FAILED if code in FAILED else Outcome.UNKNOWN
