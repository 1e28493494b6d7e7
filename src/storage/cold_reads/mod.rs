//! Batches that are read past the page cache, for readers of records that have left memory.
//!
//! A cold range of a finished segment is read into a buffer, checked there, and sent from there. So
//! the bytes that leave are those that were checked, and a reader that catches up does not evict
//! the end of the log from the page cache. A sequential reader's next buffer is filled while the
//! last one is sent.
//!
//! All buffers of a data directory together are bounded: without a free one, and for bytes that
//! several readers want one after another, reads go through the page cache.

mod chunk;
mod chunks;
mod recent;

pub(in crate::storage) use chunk::{Chunk, CutLimit};
pub use chunks::ColdReads;
pub(in crate::storage) use chunks::{Place, Wanted};

#[cfg(test)]
mod cold_reads_tests;
