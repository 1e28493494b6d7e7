//! Packing and unpacking by any codec.

use std::borrow::Cow;
use std::io::{self, Read};

use super::codec::Compression;
use super::limits::Limits;
use super::{gzip, lz4, snappy, zstd};
use crate::record::RecordError;

/// Why a codec gave no bytes.
#[derive(Debug)]
pub(super) enum Fault {
    /// The stream is damaged.
    Damaged(io::Error),
    /// The output passes the cap.
    TooMuch,
}

impl Fault {
    pub(super) fn damaged(detail: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Damaged(io::Error::new(io::ErrorKind::InvalidData, detail))
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Damaged(error)
    }
}

/// Appends `input`, packed, to `out`. `level` is the codec's own scale; `None` is its default, and
/// a codec without levels ignores it.
///
/// Fails if the codec does not know the level.
pub fn compress(
    compression: Compression,
    level: Option<i32>,
    input: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), RecordError> {
    let packed = match compression {
        Compression::None => {
            out.extend_from_slice(input);
            Ok(())
        }
        Compression::Gzip => gzip::compress(level, input, out),
        Compression::Snappy => snappy::compress(input, out),
        Compression::Lz4 => lz4::compress(input, out),
        Compression::Zstd => zstd::compress(level, input, out),
    };
    packed.map_err(|source| RecordError::Compression { compression, source })
}

/// What was packed into `input`; borrowed when it was not packed at all.
///
/// Fails if the stream is damaged, something follows it, or it unpacks to more than `limits` allow;
/// memory stays within them in every case.
pub fn decompress<'a>(
    compression: Compression,
    input: &'a [u8],
    limits: &Limits,
) -> Result<Cow<'a, [u8]>, RecordError> {
    let max = limits.unpacked_max(input.len());
    let unpacked = match compression {
        Compression::None => return Ok(Cow::Borrowed(input)),
        Compression::Gzip => gzip::decompress(input, max),
        Compression::Snappy => snappy::decompress(input, max),
        Compression::Lz4 => lz4::decompress(input, max),
        Compression::Zstd => zstd::decompress(input, max),
    };
    unpacked.map(Cow::Owned).map_err(|fault| match fault {
        Fault::Damaged(source) => RecordError::Compression { compression, source },
        Fault::TooMuch => RecordError::Inflated { compression, size: input.len(), max },
    })
}

/// All that `reader` gives, unless it is more than `max`.
pub(super) fn read_up_to(reader: impl Read, max: usize) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::new();
    let one_more = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    reader.take(one_more).read_to_end(&mut out)?;
    if out.len() > max { Err(Fault::TooMuch) } else { Ok(out) }
}
