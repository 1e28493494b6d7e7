//! The codecs of a batch's records: one stream for all records of a batch.
//!
//! One file per codec. A [`Compressor`] or [`Decompressor`] keeps what its codec needs from one
//! batch to the next; the caps on what a stream may unpack to are in [`Limits`] and hold for all
//! codecs, while unpacking and not after it.

mod compressor;
mod decompressor;
mod fault;
mod gzip;
mod limits;
mod lz4;
mod snappy;
mod zstd;

pub use compressor::{Compressor, InvalidLevel};
pub use decompressor::Decompressor;
pub use limits::Limits;
