//! Connections: accepted, handed to a shard for life, read, executed and answered in order.

mod acceptor;
mod admission;
mod answers;
mod produced;
mod reader;
mod shard;

pub(crate) use acceptor::accept;
pub(crate) use admission::Admission;
pub(crate) use produced::{Outcome, Part, Produced};
pub(crate) use shard::Shard;
