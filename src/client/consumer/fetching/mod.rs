//! Fetching ahead: one task asks the leaders, and what comes waits in a queue for callers.

mod arrivals;
mod chunk;
#[cfg(test)]
mod chunk_tests;
mod fetcher;
mod request;

pub(super) use arrivals::{Arrivals, Taken};
pub(super) use chunk::Chunk;
pub(crate) use chunk::Source;
pub(super) use fetcher::Fetcher;
pub(crate) use request::Order;
