//! Snappy: blocks of up to 32 KB in the framing of the Java library, or one bare block.
//!
//! The framing is `82 "SNAPPY" 00`, version 1 and lowest compatible version 1 as big-endian `i32`,
//! then blocks, each with its compressed length as `i32` before it.

use std::io;

use snap::raw::{Decoder, Encoder, decompress_len};

use super::limits::Fault;

const MAGIC: [u8; 8] = *b"\x82SNAPPY\0";
const VERSIONS: [u8; 8] = [0, 0, 0, 1, 0, 0, 0, 1];

/// The block size of the Java library.
const BLOCK_SIZE: usize = 32 << 10;

/// The densest element, a copy of 64 bytes, takes 3 bytes: no block can exceed this ratio.
const RATIO_MAX: usize = 22;

pub(super) fn compress(encoder: &mut Encoder, input: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&VERSIONS);
    for block in input.chunks(BLOCK_SIZE) {
        let packed = encoder.compress_vec(block)?;
        let length = i32::try_from(packed.len()).map_err(io::Error::other)?;
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(&packed);
    }
    Ok(())
}

pub(super) fn decompress(input: &[u8], max: usize) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::new();
    let Some(framed) = input.strip_prefix(&MAGIC) else {
        append_block(input, max, &mut out)?;
        return Ok(out);
    };
    let (_versions, mut rest) = framed
        .split_at_checked(VERSIONS.len())
        .ok_or_else(|| Fault::damaged("it ends within its versions"))?;
    while !rest.is_empty() {
        let (block, after) = split_block(rest)?;
        append_block(block, max, &mut out)?;
        rest = after;
    }
    Ok(out)
}

fn split_block(framed: &[u8]) -> Result<(&[u8], &[u8]), Fault> {
    framed
        .split_first_chunk()
        .and_then(|(length, rest)| {
            let length = usize::try_from(i32::from_be_bytes(*length)).ok()?;
            rest.split_at_checked(length)
        })
        .ok_or_else(|| Fault::damaged("it ends within a block"))
}

fn append_block(block: &[u8], max: usize, out: &mut Vec<u8>) -> Result<(), Fault> {
    let length = decompress_len(block).map_err(io::Error::from)?;
    if length > block.len().saturating_mul(RATIO_MAX) {
        return Err(Fault::damaged("a block says it unpacks to more than it can"));
    }
    let start = out.len();
    let end = start.saturating_add(length);
    if end > max {
        return Err(Fault::TooMuch);
    }
    out.resize(end, 0);
    let (_, room) = out.split_at_mut(start);
    let written = Decoder::new().decompress(block, room).map_err(io::Error::from)?;
    if written == length { Ok(()) } else { Err(Fault::damaged("a block ends early")) }
}
