//! The codecs of a batch's records: one stream for all records of a batch.
//!
//! One file per codec, each a pair of functions; the caps on what a stream may unpack to are in
//! [`Limits`] and hold for all of them, while unpacking and not after it.

mod codec;
mod gzip;
mod limits;
mod lz4;
mod snappy;
mod unpack;
mod zstd;

pub use codec::{Compression, UnknownCompression};
pub use limits::Limits;
pub use unpack::{compress, decompress};
