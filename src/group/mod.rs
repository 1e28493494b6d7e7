//! Kafka's classic consumer groups, as a function of events.
//!
//! A [`Coordinator`] owns the groups of one partition of the internal topic. Requests, deadlines
//! and reports of the log go in; a [`Decision`] comes out: answers to send, records to append. It
//! never touches disk, socket or clock. An answer that rests on records is held back until they
//! are reported replicated, so what was acknowledged is read back by every later coordinator that
//! replays the log.
//!
//! Of the members, the log keeps a snapshot per assignment; sessions begin anew after a load.
//! Everything a stranger can make grow has a limit in [`GroupConfig`].

#[cfg(test)]
mod checker_tests;
mod classic;
mod config;
mod coordinator;
mod dispatch;
mod doubt;
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
mod placement;
mod protocol;
mod records;
#[cfg(test)]
mod scenario_tests;
mod step;

pub use config::GroupConfig;
pub use coordinator::Coordinator;
pub use ids::{Generation, GroupId, InstanceId, MemberId};
pub use placement::partition_for;
pub use protocol::{
    AdminRefusal, Answer, Append, AppendId, Claim, CommitRequest, Decision, DeleteOffsetsRequest,
    FetchOffsetsRequest, GroupDescription, GroupError, GroupFilter, GroupState, HeartbeatRequest,
    JoinRefusal, JoinRequest, Joined, JoinedMember, LeaveRequest, Leaver, LeaverResult,
    ListedGroup, MemberDescription, NewOffset, Now, OffsetRefusal, OffsetResult, Protocol, Request,
    SyncRequest, Synced, Ticket, Unavailable,
};
pub use records::{CommittedOffset, DamagedRecord, GroupRecord};
