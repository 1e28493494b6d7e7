//! The repair of damaged segments: a follower fetches the offsets of damaged stretches again from
//! its leader.
//!
//! Only closed segments are repaired, once they are durable. The sound batches of a segment are
//! copied as they are, between them come the fetched ones, and the result replaces the segment as a
//! compacted segment does. A fetched batch must have a good checksum, fit between the sound
//! batches, and have the leader epoch that the log's own history states. A crash at any moment
//! leaves the damaged segment or the repaired one.

mod checking;
mod gaps;
mod repair_error;
mod segment_repair;

pub use repair_error::RepairError;
pub use segment_repair::{DamagedSegment, Repair};

#[cfg(test)]
mod crash_tests;
#[cfg(test)]
mod gaps_tests;
#[cfg(test)]
mod repair_tests;
#[cfg(test)]
mod world_tests;
