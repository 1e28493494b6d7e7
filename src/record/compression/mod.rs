//! The codecs of a batch's records: one stream for all records of a batch.
//!
//! Each codec has a source file. A [`Compressor`] or [`Decompressor`] keeps reusable state between
//! batches. [`Limits`] bounds the decompressed size for every codec, and is enforced while
//! decompressing, not afterwards.

mod compressor;
mod decompressor;
mod gzip;
mod limits;
mod lz4;
mod snappy;
mod zstd;

pub use compressor::{Compressor, InvalidLevel};
pub use decompressor::Decompressor;
pub use limits::Limits;
