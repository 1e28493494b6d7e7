//! The choice of a record's partition.

mod murmur;
mod partitioner;

pub use partitioner::{Choice, Partitioner};
pub(crate) use partitioner::{Chosen, PartitionCursor};
