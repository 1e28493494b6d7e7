//! LZ4: one frame of independent blocks of at most 64 KB, without checksums, the form that every
//! Kafka client reads. Decompression accepts any standard frame.
//!
//! There are two encoders: a fast one in Rust, and the C library's for the levels that search
//! harder.

use std::io::{self, Read, Write};

use lz4::liblz4::BlockChecksum;
use lz4::{ContentChecksum, EncoderBuilder};
use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};

use super::limits::{Fault, read_up_to};
use crate::record::codec::LZ4_FAST;
use crate::record::framing::{FramingFault, Framings};

/// The magic number of a frame. The legacy frame, with blocks of 8 MB, has a different number.
const MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];

/// The end mark after the last block of a frame.
const END_MARK: [u8; 4] = [0; 4];

/// The flag of a frame whose blocks can be decompressed one by one.
const INDEPENDENT_BLOCKS: u8 = 1 << 5;

/// The level of the fast encoder.
const FAST: u32 = LZ4_FAST.unsigned_abs();

/// The level with this number, if it exists.
pub(super) fn level(number: Option<i32>) -> Option<u32> {
    let number = number.map_or(Some(FAST), |number| u32::try_from(number).ok())?;
    (1..=17).contains(&number).then_some(number)
}

pub(super) fn compress(level: u32, input: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    if level == FAST { compress_fast(input, out) } else { compress_at(level, input, out) }
}

fn compress_at(level: u32, input: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    let mut encoder = EncoderBuilder::new()
        .level(level)
        .block_size(lz4::BlockSize::Max64KB)
        .block_mode(lz4::BlockMode::Independent)
        .block_checksum(BlockChecksum::NoBlockChecksum)
        .checksum(ContentChecksum::NoChecksum)
        .build(out)?;
    encoder.write_all(input)?;
    encoder.finish().1
}

fn compress_fast(input: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    let form = FrameInfo::new().block_size(BlockSize::Max64KB).block_mode(BlockMode::Independent);
    let mut encoder = FrameEncoder::with_frame_info(form, out);
    encoder.write_all(input)?;
    encoder.finish()?;
    Ok(())
}

pub(super) fn decompress(input: &[u8], max: usize, framings: Framings) -> Result<Vec<u8>, Fault> {
    let Some((&MAGIC, [flags, ..])) = input.split_first_chunk() else {
        return Err(Fault::damaged("it does not start as an LZ4 frame"));
    };
    if framings == Framings::Portable && flags & INDEPENDENT_BLOCKS == 0 {
        return Err(FramingFault::LinkedBlocks.into());
    }
    // The decoder treats the end of its input as the end of the frame. The appended end mark
    // reveals truncation: it is consumed only if the frame's own end mark was missing.
    let mut decoder = FrameDecoder::new(input.chain(&END_MARK[..]));
    let out = read_up_to(&mut decoder, input.len(), max)?;
    match decoder.get_ref().get_ref() {
        (rest, _) if !rest.is_empty() => Err(Fault::damaged("bytes follow the LZ4 frame")),
        (_, end_mark) if end_mark.len() < END_MARK.len() => {
            Err(Fault::damaged("the LZ4 frame has no end"))
        }
        _ => Ok(out),
    }
}
