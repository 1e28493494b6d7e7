//! Kafka's record batch, format 2, as pure bytes.
//!
//! [`Batch`] and [`Batches`] read (as views, without copying), [`BatchBuilder`] builds,
//! [`HeaderMut`] patches in place, [`BatchRewriter`] removes records, and [`validate_produced`]
//! decides whether a batch may be stored. The bytes are untrusted: no input causes a panic, and no
//! length is trusted before that many bytes are present. This layer never does I/O and never reads
//! a clock.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod batch;
mod batches;
mod builder;
mod checksum;
mod codec;
mod compression;
mod cursor;
mod error;
mod framing;
mod header;
mod header_mut;
mod records;
mod rewrite;
mod summary;
mod validate;
mod varint;

#[cfg(test)]
mod tests;

pub use batch::{Batch, ProducerStamp, TimestampType};
pub use batches::Batches;
pub use builder::{BatchBuilder, BatchSettings};
pub use codec::{Compression, Packing, UnknownCompression};
pub use compression::{Compressor, Decompressor, InvalidLevel, Limits};
pub use error::{RecordError, RecordFault, RejectedRecord, Rejection};
pub use framing::{FramingFault, Framings};
pub use header::HEADER_SIZE;
pub use header_mut::HeaderMut;
pub use records::{Header, Headers, Record, Records, RecordsAt};
pub use rewrite::{BatchRewriter, Repacker};
pub use summary::{BatchSummary, RunningChecksum};
pub use validate::{Checked, ProduceRules, validate_produced, validate_produced_with};
