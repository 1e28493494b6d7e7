//! Group membership of a consumer: its assignment, and its committed offsets.
//!
//! A task of the client joins the group, sends heartbeats, commits offsets and takes part in
//! rebalances while the application processes messages. A slow application is therefore never
//! removed from its group. After a change of assignment, records fetched for the old one are no
//! longer returned. The member that leads the group computes the assignment; the broker only
//! distributes it.

mod assignors;
mod calls;
mod coordinator;
mod member;
mod state;

pub(crate) use calls::read_assignment;
pub(crate) use member::Member;
pub(crate) use state::Membership;
