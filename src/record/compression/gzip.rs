//! gzip: RFC 1952, one or more members.

use std::io::{self, Write};

use flate2::bufread::{GzDecoder, MultiGzDecoder};
use flate2::write::GzEncoder;

use super::limits::{Fault, read_up_to};
use crate::record::framing::{FramingFault, Framings};

/// The level with this number, if it exists; −1 is also the default.
pub(super) fn level(number: Option<i32>) -> Option<flate2::Compression> {
    match number {
        None | Some(-1) => Some(flate2::Compression::default()),
        Some(number @ 1..=9) => Some(flate2::Compression::new(number.unsigned_abs())),
        Some(_) => None,
    }
}

pub(super) fn compress(
    level: flate2::Compression,
    input: &[u8],
    out: &mut Vec<u8>,
) -> io::Result<()> {
    let mut encoder = GzEncoder::new(out, level);
    encoder.write_all(input)?;
    encoder.finish().map(drop)
}

pub(super) fn decompress(input: &[u8], max: usize, framings: Framings) -> Result<Vec<u8>, Fault> {
    let mut first = GzDecoder::new(input);
    let out = read_up_to(&mut first, input.len(), max)?;
    if first.get_ref().is_empty() {
        return Ok(out);
    }
    match framings {
        Framings::Portable => Err(FramingFault::Members.into()),
        Framings::Any => read_up_to(MultiGzDecoder::new(input), input.len(), max),
    }
}
