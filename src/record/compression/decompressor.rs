//! Decompression of successive batches with any codec.

use std::borrow::Cow;
use std::fmt;

use super::limits::{Fault, Limits};
use super::{gzip, lz4, snappy, zstd};
use crate::record::framing::Framings;
use crate::record::{Compression, RecordError};

/// The maximum decompressed size of a request's streams, as a multiple of its size.
const REQUEST_RATIO_MAX: usize = 16;

/// Decompresses streams of every codec within limits, and keeps reusable state.
///
/// A new decompressor allocates nothing; the first zstd stream allocates the state.
pub struct Decompressor {
    limits: Limits,
    /// The number of bytes that may still be decompressed.
    left: usize,
    zstd: Option<zstd::Context>,
}

impl Default for Decompressor {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl Decompressor {
    /// Creates a decompressor that enforces `limits`.
    pub fn new(limits: Limits) -> Self {
        Self { limits, left: usize::MAX, zstd: None }
    }

    /// Creates a decompressor for all streams of a request of `bytes` bytes. In total they may
    /// decompress to 16 times that size, or to the limit of a single stream if that is more. This
    /// bounds the work that a small request can cause.
    pub fn for_request_of(bytes: usize) -> Self {
        let limits = Limits::default();
        let left = limits.decompressed_bytes_max.max(bytes.saturating_mul(REQUEST_RATIO_MAX));
        Self { left, ..Self::new(limits) }
    }

    /// Replaces the limits, which apply to each stream.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// The limits of each stream.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Decompresses `input`; borrowed if it is not compressed.
    ///
    /// Fails if the stream is damaged, is followed by other bytes, or decompresses to more than the
    /// limits allow. Memory use stays within the limits in any case.
    #[cfg(any(test, feature = "internals"))]
    pub fn decompress<'a>(
        &mut self,
        compression: Compression,
        input: &'a [u8],
    ) -> Result<Cow<'a, [u8]>, RecordError> {
        self.decompress_framed(compression, input, Framings::Any)
    }

    /// Like [`decompress`](Self::decompress), for streams with one of the given framings.
    pub fn decompress_framed<'a>(
        &mut self,
        compression: Compression,
        input: &'a [u8],
        framings: Framings,
    ) -> Result<Cow<'a, [u8]>, RecordError> {
        let max = self.limits.unpacked_max(input.len()).min(self.left);
        let unpacked = match compression {
            Compression::None => return Ok(Cow::Borrowed(input)),
            Compression::Gzip => gzip::decompress(input, max, framings),
            Compression::Snappy => snappy::decompress(input, max),
            Compression::Lz4 => lz4::decompress(input, max, framings),
            Compression::Zstd => zstd::decompress(&mut self.zstd, input, max, framings),
        };
        // An aborted stream is charged as if it had used its whole limit.
        self.left = self.left.saturating_sub(unpacked.as_ref().map_or(max, Vec::len));
        unpacked.map(Cow::Owned).map_err(|fault| match fault {
            Fault::Damaged(source) => RecordError::Compression { compression, source },
            Fault::Framing(fault) => RecordError::Framing { compression, fault },
            Fault::TooMuch => RecordError::Inflated { compression, size: input.len(), max },
        })
    }
}

impl fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Decompressor({:?})", self.limits)
    }
}
