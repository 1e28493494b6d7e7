//! Errors of the client, and the only translation of Kafka's error codes into them.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::client::Damage;
use crate::config::ConfigError;
use crate::link::{LinkError, LinkFault};
use crate::types::{Offset, TopicName, TopicPartition};
use crate::wire::ErrorCode;

/// The reason why a call failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// A setting or an argument is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// No broker could be reached, or a response lacks what was asked for.
    #[error("no broker could be reached: {}", list(tried))]
    Connect {
        /// Every address tried, with the reason it failed.
        tried: Vec<Attempt>,
    },
    /// The call's deadline passed before its work was done.
    #[error("{operation} was not done after {elapsed:.1?}{}", because(last_error.as_deref()))]
    Timeout {
        /// The operation.
        operation: &'static str,
        /// The time spent trying.
        elapsed: Duration,
        /// The last error before the deadline, or the number of records that a producer gave up
        /// then.
        #[source]
        last_error: Option<Box<ClientError>>,
    },
    /// The topic or partition does not exist.
    #[error("there is no topic or partition '{topic}'{}", meant(nearest.as_deref()))]
    TopicNotFound {
        /// The topic, or the partition as `topic-partition`.
        topic: String,
        /// The topic with the most similar name, if the cluster was asked and has a similar one.
        nearest: Option<String>,
    },
    /// The position lies outside the log and the consumer is configured to fail then.
    #[error(
        "offset {requested} of {partition} is out of range: the log has {earliest} to {latest}"
    )]
    OffsetOutOfRange {
        /// The partition.
        partition: TopicPartition,
        /// The requested position.
        requested: Offset,
        /// The first offset that can be read.
        earliest: Offset,
        /// The offset after the last readable record.
        latest: Offset,
    },
    /// A record, or a batch holding it, exceeds a size limit.
    #[error("{}", too_large(*size, *limit))]
    MessageTooLarge {
        /// Size in bytes of a batch with this record alone.
        size: usize,
        /// The producer's own limit; `None` when a broker refused the batch, whose limit is the
        /// topic's `max.message.bytes`.
        limit: Option<usize>,
    },
    /// Records cannot be delivered: the broker found them damaged, or the batch it sent has wrong
    /// bytes or wrong offsets. Or records are lost that may have been delivered, since an operator
    /// gave them up; this error is returned once, and the next call reads on.
    #[error("{}", source.words(partition, *offset))]
    Damaged {
        /// The partition.
        partition: TopicPartition,
        /// The offset at which reading stopped, or the first offset whose record is lost.
        offset: Offset,
        /// The damage found.
        #[source]
        source: Arc<Damage>,
    },
    /// Records were not delivered, and no caller has received the failures from their tickets.
    #[error("{}", undelivered(failures, *unlisted))]
    Delivery {
        /// The first failures: an entry per batch, or per part of a batch that was split.
        failures: Vec<DeliveryFailure>,
        /// The number of failed records beyond the listed failures.
        unlisted: u64,
    },
    /// The client, producer or consumer was closed.
    #[error("the client, or an object created from it, was closed: create a new one")]
    Closed,
    /// A broker refused with an error code that has no variant of its own.
    #[error("the broker answered {code}{}", after_colon(message))]
    Broker {
        /// Kafka's error code.
        code: ErrorCode,
        /// The broker's message, if it sent one.
        message: String,
    },
    /// A signal arrived while the thread waited, and its handler chose to interrupt the wait.
    #[error("interrupted by a signal")]
    Interrupted,
    /// The operating system refused a thread or a file descriptor.
    #[error("the system refused")]
    System(#[source] Arc<io::Error>),
}

/// An address that was tried, with the reason it failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// `host:port`, or a description if the address is not known.
    pub address: String,
    /// The reason it failed.
    pub reason: String,
    /// True if a connection was made, then or earlier in the same call. A broker that accepts one
    /// may still answer nothing.
    pub is_connected: bool,
}

/// Records of one batch, as last sent, that were not delivered.
#[derive(Clone, Debug)]
pub struct DeliveryFailure {
    /// The partition of the records.
    pub partition: TopicPartition,
    /// The number of records.
    pub records: u32,
    /// The reason.
    pub error: ClientError,
}

/// The reaction of a caller inside the client to an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Try the same request again after a pause.
    Retry,
    /// Refresh the metadata first, then try again.
    Refresh,
    /// Return the error to the caller: the same request would fail again.
    Reject,
    /// Stop altogether.
    Fatal,
}

impl ClientError {
    /// A topic or partition that does not exist.
    pub(crate) fn no_topic(topic: impl fmt::Display) -> Self {
        Self::TopicNotFound { topic: topic.to_string(), nearest: None }
    }

    /// The error for `code`; `about` names the topic or partition concerned.
    pub(crate) fn from_code(code: ErrorCode, about: &str, message: Option<&str>) -> Self {
        match code {
            ErrorCode::UnknownTopicOrPartition | ErrorCode::UnknownTopicId => Self::no_topic(about),
            _ => Self::Broker {
                code,
                message: message.filter(|m| !m.is_empty()).unwrap_or(about).to_owned(),
            },
        }
    }

    /// Returns the error for `code` if it is an error code; `about` as in
    /// [`from_code`](Self::from_code).
    pub(crate) fn check(
        code: ErrorCode,
        about: &str,
        message: Option<&str>,
    ) -> Result<(), ClientError> {
        if code.is_error() { Err(Self::from_code(code, about, message)) } else { Ok(()) }
    }

    /// An address at which nobody answered as needed.
    pub(crate) fn unreachable(address: impl fmt::Display, reason: impl fmt::Display) -> Self {
        Self::Connect { tried: vec![Attempt::answered_not(address, reason)] }
    }

    /// Returns true if the call has failed because no connection to a broker could be made.
    pub fn is_unconnected(&self) -> bool {
        match self {
            Self::Connect { tried } => tried.iter().all(|attempt| !attempt.is_connected),
            Self::Timeout { last_error: Some(last), .. } => last.is_unconnected(),
            _ => false,
        }
    }

    /// The same error, of a call that had a connection earlier.
    pub(crate) fn after_connection(mut self) -> Self {
        if let Self::Connect { tried } = &mut self {
            for attempt in tried {
                attempt.is_connected = true;
            }
        }
        self
    }

    /// The broker's error code, for errors without a variant of their own.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Broker { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// Returns true if another process took over this producer's or member's identity.
    pub fn is_fenced(&self) -> bool {
        matches!(
            self.code(),
            Some(
                ErrorCode::InvalidProducerEpoch
                    | ErrorCode::ProducerFenced
                    | ErrorCode::FencedInstanceId
                    | ErrorCode::FencedMemberEpoch
            )
        )
    }

    /// The reaction a caller should take.
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::Connect { .. } | Self::TopicNotFound { .. } => Remedy::Refresh,
            Self::Timeout { .. } => Remedy::Retry,
            Self::Broker { code, .. } => remedy_of(*code),
            Self::Closed | Self::Interrupted | Self::System(_) => Remedy::Fatal,
            Self::Config(_)
            | Self::OffsetOutOfRange { .. }
            | Self::MessageTooLarge { .. }
            | Self::Damaged { .. }
            | Self::Delivery { .. } => Remedy::Reject,
        }
    }
}

impl From<LinkError> for ClientError {
    fn from(LinkError { address, fault }: LinkError) -> Self {
        match fault {
            LinkFault::Closed => Self::Closed,
            LinkFault::UnsupportedVersion { .. } => {
                Self::Broker { code: ErrorCode::UnsupportedVersion, message: fault.to_string() }
            }
            _ => {
                let is_connected = !fault.is_unconnected();
                let attempt = Attempt { is_connected, ..Attempt::answered_not(address, fault) };
                Self::Connect { tried: vec![attempt] }
            }
        }
    }
}

impl Attempt {
    /// A connection over which no answer came that was needed.
    pub(crate) fn answered_not(address: impl fmt::Display, reason: impl fmt::Display) -> Self {
        Self { address: address.to_string(), reason: reason.to_string(), is_connected: true }
    }
}

impl From<io::Error> for ClientError {
    fn from(error: io::Error) -> Self {
        Self::System(Arc::new(error))
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.address, self.reason)
    }
}

fn remedy_of(code: ErrorCode) -> Remedy {
    match code {
        ErrorCode::NotLeaderOrFollower
        | ErrorCode::LeaderNotAvailable
        | ErrorCode::ReplicaNotAvailable
        | ErrorCode::BrokerNotAvailable
        | ErrorCode::ListenerNotFound
        | ErrorCode::FencedLeaderEpoch
        | ErrorCode::UnknownLeaderEpoch
        | ErrorCode::KafkaStorageError
        | ErrorCode::InconsistentTopicId
        | ErrorCode::NotController => Remedy::Refresh,
        ErrorCode::RequestTimedOut
        | ErrorCode::NetworkException
        | ErrorCode::CorruptMessage
        | ErrorCode::CoordinatorLoadInProgress
        | ErrorCode::CoordinatorNotAvailable
        | ErrorCode::NotCoordinator
        | ErrorCode::NotEnoughReplicas
        | ErrorCode::NotEnoughReplicasAfterAppend
        | ErrorCode::OffsetNotAvailable
        | ErrorCode::ThrottlingQuotaExceeded
        | ErrorCode::UnstableOffsetCommit
        | ErrorCode::FetchSessionIdNotFound
        | ErrorCode::InvalidFetchSessionEpoch => Remedy::Retry,
        _ => Remedy::Reject,
    }
}

fn list(tried: &[Attempt]) -> String {
    tried.iter().map(Attempt::to_string).collect::<Vec<_>>().join("; ")
}

fn because(last_error: Option<&ClientError>) -> String {
    last_error.map(|error| format!(": {error}")).unwrap_or_default()
}

fn meant(nearest: Option<&str>) -> String {
    nearest.map(|name| format!("; did you mean '{name}'?")).unwrap_or_default()
}

fn too_large(size: usize, limit: Option<usize>) -> String {
    match limit {
        Some(limit) => {
            format!(
                "a record that takes {size} bytes in a batch is more than the {limit} of \
                 max.request.size"
            )
        }
        None => format!("a batch of {size} bytes is more than max.message.bytes of the topic"),
    }
}

fn after_colon(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}

fn undelivered(failures: &[DeliveryFailure], unlisted: u64) -> String {
    let listed: u64 = failures.iter().map(|failure| u64::from(failure.records)).sum();
    let total = listed.saturating_add(unlisted);
    match failures.first() {
        Some(first) => format!(
            "{total} records were not delivered; the first {} to {}: {}",
            first.records, first.partition, first.error
        ),
        None => format!("{total} records were not delivered"),
    }
}

/// Parses a topic name; the error says what is wrong with it.
pub(crate) fn topic_name(text: &str) -> Result<TopicName, ClientError> {
    text.parse().map_err(|error: crate::types::InvalidTopicName| {
        ClientError::Config(ConfigError::single("topic", error.to_string()))
    })
}
