//! `Produce` (key 0): record batches for partitions, and the offsets assigned to them.
//!
//! The broker decodes requests as [`ProduceRequestView`], which leaves the records in the frame,
//! and encodes responses by [`ProduceAnswers`], many into one buffer. [`ProduceRequest`] and
//! [`ProduceResponse`] are the same messages as values, for clients and tests.

mod answers;
mod message;
mod view;

pub use answers::ProduceAnswers;
pub use message::{
    BY_ID_SINCE, Partition, ProduceRequest, ProduceResponse, RecordError, RequestPartition,
    RequestTopic, Topic,
};
pub use view::{PartitionView, Partitions, ProduceRequestView, TopicView};
