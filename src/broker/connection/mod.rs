//! Connections: accepted, handed to a shard for life, read, executed and answered in order.

mod acceptor;
mod admission;
mod answers;
mod backlog;
mod reader;
mod shard;
mod stages;

pub(crate) use acceptor::accept;
pub(crate) use admission::{Admission, descriptors_for_connections};
pub(crate) use shard::Shard;
