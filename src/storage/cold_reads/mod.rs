//! Batches that are read past the page cache, for readers of records that have left memory.
//!
//! A cold range of a finished segment is read into a buffer, checked there, and sent from there. So
//! exactly the checked bytes are sent, and a reader that catches up does not evict the end of the
//! log from the page cache. A sequential reader's next buffer is filled while the last one is sent.
//!
//! All buffers of a data directory together are bounded. If none is free, or the same bytes were
//! read this way shortly before, a read goes through the page cache, where other readers find the
//! bytes.

mod chunk;
mod chunks;
mod recent;

pub(in crate::storage) use chunk::{Chunk, CutLimit};
pub use chunks::ColdReads;
pub(in crate::storage) use chunks::{Place, Wanted};

#[cfg(test)]
mod cold_reads_tests;
