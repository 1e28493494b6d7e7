//! Everything a call of the client can end with, and the only translation of wire codes into it.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::client::Damage;
use crate::config::ConfigError;
use crate::types::{Offset, TopicName, TopicPartition};
use crate::wire::ErrorCode;

/// Why a call did not do what it was asked for.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// A setting or an argument does not fit.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// No broker could be talked to.
    #[error("no broker could be reached: {}", list(tried))]
    Connect {
        /// Every address tried, and what came of it.
        tried: Vec<Attempt>,
    },
    /// The call's time was over before its work.
    #[error("{operation} was not done after {elapsed:.1?}{}", because(last_error.as_deref()))]
    Timeout {
        /// What was being done.
        operation: &'static str,
        /// How long it was tried.
        elapsed: Duration,
        /// What had stood in the way last.
        #[source]
        last_error: Option<Box<ClientError>>,
    },
    /// There is no such topic, or no such partition of it.
    #[error("there is no topic or partition '{topic}'{}", meant(nearest.as_deref()))]
    TopicNotFound {
        /// The topic, or the partition as `topic-partition`.
        topic: String,
        /// The topic with the nearest name, if the cluster was asked for it and one is near.
        nearest: Option<String>,
    },
    /// The position lies outside the log and the consumer is set to say so.
    #[error(
        "offset {requested} of {partition} is out of range: the log has {earliest} to {latest}"
    )]
    OffsetOutOfRange {
        /// Where.
        partition: TopicPartition,
        /// The position asked for.
        requested: Offset,
        /// The first offset that can be read.
        earliest: Offset,
        /// The end of what can be read.
        latest: Offset,
    },
    /// A record, or a batch made of it, is larger than allowed.
    #[error("{}", too_large(*size, *limit))]
    MessageTooLarge {
        /// Bytes of the record, or of the batch of it alone that a broker refused.
        size: usize,
        /// The most that this producer takes; `None` when it was a broker that refused: it allows
        /// what `max.message.bytes` of the topic says.
        limit: Option<usize>,
    },
    /// Records cannot be given out: the broker found them damaged, or what it sent is not what was
    /// stored, or not what comes next.
    #[error(
        "the records of {partition} from offset {offset} on are damaged; `streamlog partition \
         damage` lists what is, `streamlog partition skip-damage {partition} --from {offset} --to \
         END --yes` lets readers go on behind it"
    )]
    Damaged {
        /// Where.
        partition: TopicPartition,
        /// The position at which reading stopped.
        offset: Offset,
        /// What is wrong with them.
        #[source]
        source: Arc<Damage>,
    },
    /// Records were not delivered, and nobody had asked for their outcome.
    #[error("{}", undelivered(failures, *unlisted))]
    Delivery {
        /// The first of the failures, one entry per batch, or part of one that was split.
        failures: Vec<DeliveryFailure>,
        /// Records that failed beyond those.
        unlisted: u64,
    },
    /// The client, producer or consumer was closed.
    #[error("the client, or what was made from it, was closed: make it anew")]
    Closed,
    /// A broker refused, for a reason that has no case of its own.
    #[error("the broker answered {code}{}", after_colon(message))]
    Broker {
        /// Kafka's code.
        code: ErrorCode,
        /// The broker's words, if it had any.
        message: String,
    },
    /// A signal reached the waiting thread and its owner chose to give up.
    #[error("interrupted by a signal")]
    Interrupted,
    /// The system refused a thread or a descriptor.
    #[error("the system refused")]
    System(#[source] Arc<io::Error>),
}

/// One address and what came of talking to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// `host:port`.
    pub address: String,
    /// What happened.
    pub reason: String,
}

/// Records of one batch, as it was sent last, that were not delivered.
#[derive(Clone, Debug)]
pub struct DeliveryFailure {
    /// Where they should have gone.
    pub partition: TopicPartition,
    /// How many.
    pub records: u32,
    /// Why they did not.
    pub error: ClientError,
}

/// What a caller inside the client does about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Try the same again after a pause.
    Retry,
    /// Ask for the cluster's state first, then try again.
    Refresh,
    /// Give the error to whoever asked: the same request fails again.
    Reject,
    /// Stop altogether.
    Fatal,
}

impl ClientError {
    /// There is no topic of this name, or no partition of this number.
    pub(crate) fn no_topic(topic: impl fmt::Display) -> Self {
        Self::TopicNotFound { topic: topic.to_string(), nearest: None }
    }

    /// The error that a code stands for; `about` is the topic or partition concerned.
    pub(crate) fn from_code(code: ErrorCode, about: &str, message: Option<&str>) -> Self {
        match code {
            ErrorCode::UnknownTopicOrPartition | ErrorCode::UnknownTopicId => Self::no_topic(about),
            _ => Self::Broker {
                code,
                message: message.filter(|m| !m.is_empty()).unwrap_or(about).to_owned(),
            },
        }
    }

    /// The error that a code stands for, if it stands for one; `about` as for
    /// [`from_code`](Self::from_code).
    pub(crate) fn check(
        code: ErrorCode,
        about: &str,
        message: Option<&str>,
    ) -> Result<(), ClientError> {
        if code.is_error() { Err(Self::from_code(code, about, message)) } else { Ok(()) }
    }

    /// One address that could not be talked to.
    pub(crate) fn unreachable(address: impl fmt::Display, reason: impl fmt::Display) -> Self {
        let attempt = Attempt { address: address.to_string(), reason: reason.to_string() };
        Self::Connect { tried: vec![attempt] }
    }

    /// Kafka's code, where a broker gave one that has no case of its own.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Broker { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// Whether another process took over this producer's or member's identity.
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

    /// What a caller does about it.
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
            format!("a record of {size} bytes is more than the {limit} of max.request.size")
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

/// The name of a topic, or the reason why the text is none.
pub(crate) fn topic_name(text: &str) -> Result<TopicName, ClientError> {
    text.parse().map_err(|error: crate::types::InvalidTopicName| {
        ClientError::Config(ConfigError::single("topic", error.to_string()))
    })
}
