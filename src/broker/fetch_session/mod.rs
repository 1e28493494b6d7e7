//! Fetch sessions: a consumer of many partitions says once which ones and where it stands, and from
//! then on only what has changed goes over the wire, in both directions.
//!
//! A session is a map of partitions with what its peer was last told of each. Every request has the
//! number after the one before; whoever is out of step is told so and begins anew. Sessions are a
//! convenience that may be refused: their number and the partitions they hold together are bounded,
//! and who gets none is served in full every time.

mod sessions;
mod state;

#[cfg(test)]
mod model_tests;

pub(crate) use sessions::FetchSessions;
