//! Kafka's classic consumer groups, as a function of events.
//!
//! A [`Coordinator`] owns the groups of one partition of the internal topic. Its inputs are
//! requests, deadlines and reports of the log; its output is a [`Decision`]: responses to send and
//! records to append. It never touches disk, socket or clock. A response that depends on records is
//! held back until they are reported replicated, so every later coordinator that replays the log
//! finds everything that was acknowledged.
//!
//! The log has a snapshot of the members for each assignment; sessions restart after a load.
//! Everything that clients can make grow is limited, by [`GroupConfig`] or a constant.

#[cfg(test)]
mod checker_tests;
mod classic;
mod config;
mod coordinator;
mod dispatch;
mod expiry;
mod ids;
mod in_flight;
#[cfg(test)]
mod loading_tests;
#[cfg(test)]
mod membership_tests;
#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod offsets_tests;
mod protocol;
mod records;
#[cfg(test)]
mod scenario_tests;
mod step;
mod uncertain_offsets;

pub use config::GroupConfig;
pub use coordinator::Coordinator;
pub use ids::{Generation, GroupId, InstanceId, MemberId, partition_for};
pub use protocol::{
    AdminRefusal, Answer, Append, AppendId, Claim, CommitRequest, Decision, DeleteOffsetsRequest,
    FetchOffsetsRequest, GroupDescription, GroupError, GroupFilter, GroupState, HeartbeatRequest,
    JoinRefusal, JoinRequest, Joined, JoinedMember, LeaveRequest, Leaver, LeaverResult,
    ListedGroup, MemberDescription, NewOffset, Now, OffsetRefusal, OffsetResult, Protocol, Request,
    SyncRequest, Synced, Ticket, Unavailable,
};
pub use records::{CommittedOffset, DamagedRecord, GroupRecord};
