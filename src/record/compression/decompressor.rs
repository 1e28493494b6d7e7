//! Unpacking batch after batch by any codec.

use std::borrow::Cow;
use std::fmt;

use super::fault::Fault;
use super::limits::Limits;
use super::{gzip, lz4, snappy, zstd};
use crate::record::{Compression, RecordError};

/// The most that the streams of one request unpack to, as a multiple of its bytes.
const REQUEST_RATIO_MAX: usize = 16;

/// Unpacks streams of every codec within limits, and keeps what a codec can use again.
///
/// Making one costs nothing; the first zstd stream does.
pub struct Decompressor {
    limits: Limits,
    /// Bytes that may still be unpacked.
    left: usize,
    zstd: Option<zstd::Context>,
}

impl Default for Decompressor {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl Decompressor {
    /// A decompressor that holds to `limits`.
    pub fn new(limits: Limits) -> Self {
        Self { limits, left: usize::MAX, zstd: None }
    }

    /// A decompressor for all streams of a request of so many bytes. Together they may unpack to
    /// 16 times that, and to as much as one stream at least, so that nobody gets work without an
    /// end for few bytes.
    pub fn for_request_of(bytes: usize) -> Self {
        let limits = Limits::default();
        let left = limits.decompressed_bytes_max.max(bytes.saturating_mul(REQUEST_RATIO_MAX));
        Self { left, ..Self::new(limits) }
    }

    /// Holds to other limits from now on, for each stream.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// What it holds to.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What was packed into `input`; borrowed when it was not packed at all.
    ///
    /// Fails if the stream is damaged, something follows it, or it unpacks to more than the limits
    /// allow; memory stays within them in every case.
    pub fn decompress<'a>(
        &mut self,
        compression: Compression,
        input: &'a [u8],
    ) -> Result<Cow<'a, [u8]>, RecordError> {
        let max = self.limits.unpacked_max(input.len()).min(self.left);
        let unpacked = match compression {
            Compression::None => return Ok(Cow::Borrowed(input)),
            Compression::Gzip => gzip::decompress(input, max),
            Compression::Snappy => snappy::decompress(input, max),
            Compression::Lz4 => lz4::decompress(input, max),
            Compression::Zstd => zstd::decompress(&mut self.zstd, input, max),
        };
        // What was given up has cost as much as what was unpacked.
        self.left = self.left.saturating_sub(unpacked.as_ref().map_or(max, Vec::len));
        unpacked.map(Cow::Owned).map_err(|fault| match fault {
            Fault::Damaged(source) => RecordError::Compression { compression, source },
            Fault::TooMuch => RecordError::Inflated { compression, size: input.len(), max },
        })
    }
}

impl fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Decompressor({:?})", self.limits)
    }
}
