//! `Fetch`: records up to the high watermark or, for followers, up to the log end, as places in
//! their files.
//!
//! ```text
//! request → session: all partitions that it stands for → found and opened (Fetch)
//! Fetch → read and verified, again after each wakeup, until there is enough → topics
//! topics → session: only changes → frame around the places of the records
//! ```
//!
//! A read finds places and copies no record. The connection sends the records from their files.

mod answer;
mod parked;
mod partition_fetch;
mod reading;
mod replica;
mod response;
mod session;

pub(crate) use answer::answer;
pub(crate) use session::FetchSessions;
