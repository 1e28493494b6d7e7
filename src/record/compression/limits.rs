//! Limits on the decompressed size of untrusted bytes, and the faults of such bytes.

use std::io::{self, Read};

use crate::record::framing::FramingFault;

/// Limits on the decompression and iteration of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum decompressed size of a batch's records.
    pub decompressed_bytes_max: usize,
    /// The maximum number of headers of a record.
    pub headers_per_record_max: u32,
}

impl Limits {
    /// The decompressed size up to which any compression ratio is allowed.
    const FREE_BYTES: usize = 1 << 20;
    /// The maximum compression ratio beyond `FREE_BYTES`.
    const RATIO_MAX: usize = 1_000;
    /// The maximum decompressed size of any batch, whatever its topic allows.
    const CEILING: usize = 64 << 20;

    /// The limits for batches of at most `batch_bytes_max` bytes.
    pub fn for_batches_up_to(batch_bytes_max: usize) -> Self {
        Self {
            decompressed_bytes_max: batch_bytes_max.saturating_mul(16).min(Self::CEILING),
            headers_per_record_max: 1_000,
        }
    }

    /// The maximum decompressed size of a stream of `size` bytes.
    pub(super) fn unpacked_max(&self, size: usize) -> usize {
        let by_ratio = size.saturating_mul(Self::RATIO_MAX).max(Self::FREE_BYTES);
        by_ratio.min(self.decompressed_bytes_max)
    }
}

/// The widest limits: those of a reader, which does not know the topic's limit.
impl Default for Limits {
    fn default() -> Self {
        Self { decompressed_bytes_max: Self::CEILING, headers_per_record_max: 1_000 }
    }
}

/// Reads everything that `reader` decompresses from `input_size` bytes, unless it exceeds `max`.
pub(super) fn read_up_to(
    reader: impl Read,
    input_size: usize,
    max: usize,
) -> Result<Vec<u8>, Fault> {
    // Reserve three times the input, which suffices for common ratios; the buffer grows if needed.
    let mut out = Vec::with_capacity(input_size.saturating_mul(3).min(max));
    let one_more = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    reader.take(one_more).read_to_end(&mut out)?;
    if out.len() > max { Err(Fault::TooMuch) } else { Ok(out) }
}

/// The reason why a codec failed, before the codec is attached to it.
#[derive(Debug)]
pub(super) enum Fault {
    /// The stream is damaged.
    Damaged(io::Error),
    /// The output exceeds the limit.
    TooMuch,
    /// The stream has a framing that was not accepted.
    Framing(FramingFault),
}

impl Fault {
    pub(super) fn damaged(detail: &'static str) -> Self {
        Self::Damaged(io::Error::new(io::ErrorKind::InvalidData, detail))
    }
}

impl From<FramingFault> for Fault {
    fn from(fault: FramingFault) -> Self {
        Self::Framing(fault)
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Damaged(error)
    }
}
