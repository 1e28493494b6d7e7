//! Compression of successive batches with one codec.

use std::fmt;
use std::io;

use super::{gzip, lz4, snappy, zstd};
use crate::record::{Compression, RecordError};

/// A codec at a given level, with its reusable state: some hundred KB for zstd, so a client shares
/// one compressor among all its partitions.
pub struct Compressor(State);

enum State {
    None,
    Gzip(flate2::Compression),
    Snappy(Box<snap::raw::Encoder>),
    Lz4(u32),
    Zstd(Box<zstd::Packer>),
}

/// A level that the codec does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{compression} has no level {level}")]
pub struct InvalidLevel {
    /// The codec.
    pub compression: Compression,
    /// The level.
    pub level: i32,
}

impl Compressor {
    /// A compressor that stores records uncompressed.
    pub const fn none() -> Self {
        Self(State::None)
    }

    /// Creates a compressor. `level` is on the codec's own scale (gzip 1 to 9, lz4 1 to 17, zstd
    /// −131072 to 22); `None` is the default. Codecs without levels ignore it.
    pub fn new(compression: Compression, level: Option<i32>) -> Result<Self, InvalidLevel> {
        let state = match compression {
            Compression::None => Some(State::None),
            Compression::Gzip => gzip::level(level).map(State::Gzip),
            Compression::Snappy => Some(State::Snappy(Box::new(snap::raw::Encoder::new()))),
            Compression::Lz4 => lz4::level(level).map(State::Lz4),
            Compression::Zstd => zstd::Packer::new(level).map(Box::new).map(State::Zstd),
        };
        state.map(Self).ok_or(InvalidLevel { compression, level: level.unwrap_or_default() })
    }

    /// The codec.
    pub fn compression(&self) -> Compression {
        match self.0 {
            State::None => Compression::None,
            State::Gzip(_) => Compression::Gzip,
            State::Snappy(_) => Compression::Snappy,
            State::Lz4(_) => Compression::Lz4,
            State::Zstd(_) => Compression::Zstd,
        }
    }

    /// Compresses `input` and appends the result to `out`.
    pub fn compress(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(), RecordError> {
        self.pack(input, out).map_err(|source| {
            let compression = self.compression();
            RecordError::Compression { compression, source }
        })
    }

    fn pack(&mut self, input: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        match &mut self.0 {
            State::None => {
                out.extend_from_slice(input);
                Ok(())
            }
            State::Gzip(level) => gzip::compress(*level, input, out),
            State::Snappy(encoder) => snappy::compress(encoder, input, out),
            State::Lz4(level) => lz4::compress(*level, input, out),
            State::Zstd(packer) => packer.compress(input, out),
        }
    }
}

impl fmt::Debug for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Compressor({})", self.compression())
    }
}
