//! Fetch sessions (KIP-227): a consumer or follower of many partitions names them and its offsets
//! once; from then on only changes are transferred, in both directions.
//!
//! A session maps partitions to the values that the peer was last told. Session epochs rise by one
//! per request; a request with another epoch is refused and the client starts a new session.
//! A follower's session notes in which partitions something has happened (`ReadyList`), so that a
//! partial request costs what has changed and not what it stands for.
//! Sessions are optional: their number and the total number of their partitions are bounded, and
//! clients without a session get full responses.

mod interests;
mod sessions;
mod state;

#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod partial_tests;

pub(crate) use sessions::{Exchange, FetchSessions};
