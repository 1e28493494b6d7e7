//! A partition: the role of this broker in it, its high watermark, waiting requests.
//!
//! The high watermark is the smallest flushed offset of the in-sync replicas, or with
//! `write.caching` their smallest log end offset; while the in-sync set is below its minimum, the
//! watermark stays. Consumers see only records below it, and `acks=all` is answered once it covers
//! the record. A leader's watermark never decreases. Followers fetch as consumers do; this layer
//! knows no socket.

mod acknowledgement;
mod answering;
mod assigning;
#[cfg(test)]
mod cluster_tests;
mod damage;
mod deletion;
mod error;
mod lookups;
mod opening;
mod partition;
mod partitions;
#[cfg_attr(
    not(any(test, feature = "internals")),
    expect(dead_code, reason = "tests look into the state machines")
)]
mod protocol;
mod registration;
mod replicas;
mod role;
mod spec;
mod waiting;

pub use acknowledgement::{Acks, Reached, Target};
pub use deletion::Deletion;
pub use error::{EndUnknown, NotLeading, PartitionError, TooFewReplicas};
pub use partition::{Partition, ReadAnswer, ReadRequest, Reader, TryRead};
pub use partitions::{Partitions, Topic};
pub use protocol::{
    Asks, CountedFetch, EpochHistory, FetchAnswer, FetchOutcome, FetchPosition, FetchingReplica,
    Floor, Follower, FollowerStep, HandOverStage, HandOverStep, InSyncChange, InSyncSet,
    InSyncState, Leader, LeaderStart, Rule, Rules,
};
pub use registration::{Interest, Registration};
#[cfg(test)]
pub(crate) use replicas::Pair;
pub use replicas::{
    DamageReports, Fetched, FollowerError, FollowerPosition, HandOverProgress, InSyncChanges,
    LogCheck, RefusedAgain, RepairFailed, Repairable, RequestedChange, SegmentRepair, UnsoundLog,
    take_all_fetched,
};
pub use role::Role;
pub use spec::{Assignment, LocalLogs, PartitionSpec, Predecessors, required_in_sync};
pub use waiting::{Progress, ReadyList, Waiting};
