//! Connections. Each is handed to one shard for life, where its requests are read, executed and
//! answered in order.

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
