//! Streamlog's own client: connections, producer, consumer, administration.
//!
//! Calls may come from any thread. They block it, or are futures for any executor. Each client owns
//! a single background thread with all its connections; there is no process-wide state. Waiting
//! threads sleep without polling. They wake when their result is ready, after a time limit, when
//! the client is closed, or when a signal arrives.

mod admin;
#[cfg(feature = "arrow")]
mod arrow;
mod background;
mod call;
mod cluster;
mod committed;
mod config;
mod consumer;
mod core;
mod damage;
mod error;
mod events;
mod handle;
mod made;
mod offsets;
mod producer;
mod republish;
mod settings;
mod signals;
mod waiting;
mod wakeup;

pub use crate::config::{ByteSize, ConfigError, Fault, HostPort, Key, Kind};
#[cfg(feature = "python")]
pub(crate) use crate::io::WakeFd;
pub use crate::io::{Clock, SystemClock};
pub use crate::record::{
    Compression, Header, Headers, RecordError, RecordFault, RejectedRecord, Rejection,
    TimestampType, UnknownCompression,
};
pub use crate::wire::ErrorCode;
pub use admin::{
    Admin, AdminCalls, BrokerDescription, ClusterDescription, ConfigEntry, ConfigSource,
    DamagedStretch, GroupDescription, GroupListing, LossyElection, MemberDescription, NewTopic,
    OffsetChange, PartitionDescription, PartitionLag, PartitionSize, Problem, ReplicaEnd,
    ReplicaEnds, ResetTo, Resource, SkippedStretch, TopicDescription,
};
#[cfg(feature = "arrow")]
pub use arrow::{Column, RecordBatch, Rows, RowsMax};
pub use call::{Answer, Call};
pub use config::ClientConfig;
pub use consumer::{
    Change, Commit, Consumer, ConsumerConfig, GroupConfig, Message, OutOfRange, Patience,
    ReadRecord, Sink, Start, Strategy, Stream, UntilEnd,
};
pub use damage::{Damage, OrderFault};
pub use error::{Attempt, ClientError, DeliveryFailure, Remedy};
pub use events::{ClientStats, Event};
pub use handle::Client;
pub use offsets::FoundOffset;
pub use producer::{
    Acks, BytesGiven, Choice, ColumnsGiven, DeliveredBatches, HeadersGiven, NumbersGiven,
    Partitioner, Producer, ProducerConfig, ProducerRecord, RecordMetadata, Ticket, Validity,
};
pub use republish::{Progress, Republication, StagedPart, Stamp};
pub use settings::{ClientSettings, Scope};
pub use signals::Signals;
