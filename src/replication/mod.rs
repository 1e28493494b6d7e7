//! A partition as its leader sees it: the in-sync replicas, the high watermark, who waits for it.
//!
//! The high watermark is the smallest flushed offset over the in-sync replicas (the smallest end,
//! with `write.caching`). Consumers see what lies below it; `acks=all` is answered when it covers
//! the record. It never goes back. Followers fetch as consumers do; nothing here knows a socket.

mod damage;
mod error;
mod history;
mod leadership;
mod opening;
mod partition;
mod partitions;
mod registration;
mod spec;
mod waiting;

pub use error::PartitionError;
pub use leadership::Leadership;
pub use partition::{Acks, Partition, ReadAnswer, ReadRequest, Target};
pub use partitions::{Partitions, Topic};
pub use registration::Registration;
pub use spec::{LocalLogs, PartitionSpec};
pub use waiting::Waiting;
