//! The vocabulary of every layer: offsets, epochs, names and ids, and values to watch. No I/O.
//!
//! Each has a type of its own, so that an offset cannot be passed as a broker id. The names come
//! from Kafka's protocol.

mod ids;
mod latest;
mod offset;
#[cfg(any(test, feature = "internals"))]
mod seeds;
mod timestamp;
mod topic;
mod with_causes;

pub use ids::{BrokerId, LeaderEpoch, ProducerEpoch, ProducerId};
pub use latest::{Closed, Latest, Watcher};
pub use offset::Offset;
#[cfg(any(test, feature = "internals"))]
#[doc(hidden)]
pub use seeds::{Seeds, each_seed, seeds};
pub use timestamp::Timestamp;
pub use topic::{
    InvalidTopicName, PartitionIndex, PartitionKey, TopicId, TopicName, TopicPartition,
};
pub use with_causes::WithCauses;
