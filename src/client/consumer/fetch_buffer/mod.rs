//! Fetched records that wait for a reader: chunks in order of arrival, each read batch by batch.

mod arrivals;
mod chunk;
#[cfg(test)]
mod chunk_tests;

pub(super) use arrivals::{Arrivals, Taken};
pub(crate) use chunk::Source;
pub(super) use chunk::{Chunk, ExpectedStart};
