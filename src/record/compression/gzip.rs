//! gzip: RFC 1952, one or more members.

use std::io::{self, Write};

use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;

use super::unpack::{Fault, read_up_to};

pub(super) fn compress(level: Option<i32>, input: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    let level = match level {
        None | Some(-1) => flate2::Compression::default(),
        Some(level @ 1..=9) => flate2::Compression::new(level.unsigned_abs()),
        Some(level) => return Err(unknown_level(level)),
    };
    let mut encoder = GzEncoder::new(out, level);
    encoder.write_all(input)?;
    encoder.finish().map(drop)
}

pub(super) fn decompress(input: &[u8], max: usize) -> Result<Vec<u8>, Fault> {
    read_up_to(MultiGzDecoder::new(input), max)
}

fn unknown_level(level: i32) -> io::Error {
    let detail = format!("gzip has the levels 1 to 9, not {level}");
    io::Error::new(io::ErrorKind::InvalidInput, detail)
}
