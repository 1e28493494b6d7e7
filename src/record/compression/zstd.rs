//! Zstandard: RFC 8878, with a window of at most 8 MB in what is read and written.

use std::io;

use zstd::bulk::Compressor;
use zstd::stream::read::Decoder;
use zstd::zstd_safe::CParameter;

use super::unpack::{Fault, read_up_to};

/// Base 2 logarithm of the largest window, which is what a reader must hold in memory.
const WINDOW_LOG_MAX: u32 = 23;

/// Levels above this one choose larger windows by themselves.
const LEVEL_OF_WINDOW_MAX: i32 = 19;

pub(super) fn compress(level: Option<i32>, input: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    let level = level.unwrap_or(zstd::DEFAULT_COMPRESSION_LEVEL);
    if !zstd::compression_level_range().contains(&level) {
        let detail = format!("zstd has no level {level}");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, detail));
    }
    let mut compressor = Compressor::new(level)?;
    if level > LEVEL_OF_WINDOW_MAX {
        compressor.set_parameter(CParameter::WindowLog(WINDOW_LOG_MAX))?;
    }
    out.append(&mut compressor.compress(input)?);
    Ok(())
}

pub(super) fn decompress(input: &[u8], max: usize) -> Result<Vec<u8>, Fault> {
    let mut decoder = Decoder::with_buffer(input)?;
    decoder.window_log_max(WINDOW_LOG_MAX)?;
    read_up_to(decoder, max)
}
