//! The interface of a coordinator: identifiers, requests, responses and errors, independent of
//! protocol versions and sentinels.

mod answer;
mod decision;
mod error;
mod request;

pub use answer::{
    Answer, GroupDescription, GroupState, Joined, JoinedMember, LeaverResult, ListedGroup,
    MemberDescription, OffsetResult, Synced,
};
pub use decision::{Append, AppendId, Decision, Now, Ticket};
pub use error::{AdminRefusal, GroupError, JoinRefusal, OffsetRefusal, Unavailable};
pub use request::{
    Claim, CommitRequest, DeleteOffsetsRequest, FetchOffsetsRequest, GroupFilter, HeartbeatRequest,
    JoinRequest, LeaveRequest, Leaver, NewOffset, Protocol, Request, SyncRequest,
};
