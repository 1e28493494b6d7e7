//! Zstandard: RFC 8878. Streams are written with a window of at most 8 MB.
//!
//! A stream is decompressed in one call into its output, so that its window takes no memory here,
//! however large it is.

use std::io;

use zstd::bulk::Compressor;
use zstd::zstd_safe::zstd_sys::ZSTD_ErrorCode;
use zstd::zstd_safe::{self, CParameter, DCtx};

use super::limits::Fault;
use crate::record::framing::{FramingFault, Framings};

/// Base-2 logarithm of the largest window that is written. A reader must hold it in memory.
const WINDOW_LOG_MAX: u32 = 23;

/// The largest window that clients accept from others, 128 MiB.
const PORTABLE_WINDOW_MAX: u64 = 1 << 27;

/// The magic number of a frame with data.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The flag in a frame's descriptor by which the frame has no window but its content.
const SINGLE_SEGMENT: u8 = 1 << 5;

/// The first attempt's output size, as a multiple of the input, if the frame does not tell it. Each
/// further attempt gets as many times more.
const GROWTH: usize = 4;

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
    framings: Framings,
) -> Result<Vec<u8>, Fault> {
    if framings == Framings::Portable {
        check_portable(input)?;
    }
    let context = context.get_or_insert_with(DCtx::create);
    let mut size = first_size(input, max)?;
    loop {
        let mut out = Vec::with_capacity(size);
        match context.decompress(&mut out, input) {
            Ok(_) => return Ok(out),
            Err(code) if !is_too_small(code) => return Err(error(code).into()),
            Err(_) if size >= max => return Err(Fault::TooMuch),
            Err(_) => size = size.max(input.len()).saturating_mul(GROWTH).min(max),
        }
    }
}

/// The size of the output to try first.
fn first_size(input: &[u8], max: usize) -> Result<usize, Fault> {
    let stated = zstd_safe::get_frame_content_size(input).ok().flatten();
    match stated.map(usize::try_from) {
        None => Ok(input.len().saturating_mul(GROWTH).min(max)),
        Some(Ok(stated)) if stated <= max => Ok(stated),
        Some(_) => Err(Fault::TooMuch),
    }
}

/// Checks that the stream is one frame whose window all clients accept. What is not a frame is left
/// to the decoder.
fn check_portable(input: &[u8]) -> Result<(), Fault> {
    let size = zstd_safe::find_frame_compressed_size(input).map_err(error)?;
    let Some((magic, [descriptor, window, ..])) = input.split_first_chunk() else {
        return Err(FramingFault::Frames.into());
    };
    if *magic != MAGIC || size != input.len() {
        return Err(FramingFault::Frames.into());
    }
    if descriptor & SINGLE_SEGMENT != 0 {
        return Ok(());
    }
    let (exponent, mantissa) = (window >> 3, u64::from(window & 7));
    let base = 1_u64 << 10 << exponent;
    let window = base.saturating_add((base >> 3).saturating_mul(mantissa));
    if window > PORTABLE_WINDOW_MAX {
        return Err(FramingFault::Window { window, max: PORTABLE_WINDOW_MAX }.into());
    }
    Ok(())
}

fn is_too_small(code: usize) -> bool {
    code == 0_usize.wrapping_sub(ZSTD_ErrorCode::ZSTD_error_dstSize_tooSmall as usize)
}

fn error(code: usize) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, zstd_safe::get_error_name(code))
}
