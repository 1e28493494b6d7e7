//! Zstandard: RFC 8878. Streams are written with a window of at most 8 MB, and a larger window is
//! refused.

use std::io;

use zstd::bulk::Compressor;
use zstd::stream::read::Decoder;
use zstd::zstd_safe::{self, CParameter, DCtx};

use super::limits::{Fault, read_up_to};

/// Base-2 logarithm of the largest window, which a reader must hold in memory.
const WINDOW_LOG_MAX: u32 = 23;

/// Levels above this select larger windows by default.
const LEVEL_OF_WINDOW_MAX: i32 = 19;

/// The decompression state reused between streams.
pub(super) type Context = DCtx<'static>;

/// The compression state reused between streams.
pub(super) struct Packer {
    compressor: Compressor<'static>,
    stream: Vec<u8>,
}

impl Packer {
    /// Creates a packer for `level`, if the level exists.
    pub(super) fn new(level: Option<i32>) -> Option<Self> {
        let level = level.unwrap_or(zstd::DEFAULT_COMPRESSION_LEVEL);
        if !zstd::compression_level_range().contains(&level) {
            return None;
        }
        let mut compressor = Compressor::new(level).ok()?;
        if level > LEVEL_OF_WINDOW_MAX {
            compressor.set_parameter(CParameter::WindowLog(WINDOW_LOG_MAX)).ok()?;
        }
        Some(Self { compressor, stream: Vec::new() })
    }

    pub(super) fn compress(&mut self, input: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        self.stream.clear();
        self.stream.reserve(zstd_safe::compress_bound(input.len()));
        self.compressor.compress_to_buffer(input, &mut self.stream)?;
        out.extend_from_slice(&self.stream);
        Ok(())
    }
}

pub(super) fn decompress(
    context: &mut Option<Context>,
    input: &[u8],
    max: usize,
) -> Result<Vec<u8>, Fault> {
    let context = context.get_or_insert_with(DCtx::create);
    let mut decoder = Decoder::with_context(input, context);
    decoder.window_log_max(WINDOW_LOG_MAX)?;
    read_up_to(decoder, input.len(), max)
}
