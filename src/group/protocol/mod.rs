//! What a coordinator is told and what it says, in its own words: names, requests, answers,
//! errors. The wire's versions and sentinels stay outside.

mod answer;
mod decision;
mod error;
mod request;
mod state;

pub use answer::{
    Answer, GroupDescription, Joined, JoinedMember, LeaverResult, ListedGroup, MemberDescription,
    OffsetResult, Synced,
};
pub use decision::{Append, AppendId, Decision, Now, Ticket};
pub use error::{AdminRefusal, GroupError, JoinRefusal, OffsetRefusal, Unavailable};
pub use request::{
    Claim, CommitRequest, DeleteOffsetsRequest, FetchOffsetsRequest, GroupFilter, HeartbeatRequest,
    JoinRequest, LeaveRequest, Leaver, NewOffset, Protocol, Request, SyncRequest,
};
pub use state::GroupState;
